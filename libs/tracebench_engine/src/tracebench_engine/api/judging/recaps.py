"""A finished run as if its caps or prices had been different."""

from tracebench_analysis.recap import RunRecap as RunRecap, Standing as Standing, recap_run as recap_run
from tracebench_analysis.whatif import Recap as Recap
