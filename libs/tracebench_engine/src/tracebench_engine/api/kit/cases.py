"""The cases of known outcome of an opened task, and measuring them in this process."""

from tracebench_engine.checks.calibration.cases import cases_of as cases_of
from tracebench_engine.checks.calibration.measuring import calibrate as calibrate
