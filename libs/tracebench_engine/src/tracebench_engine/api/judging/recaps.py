"""A finished run as if its caps or prices had been different."""

from tracebench_analysis.recap import RunRecap, Standing, recap_run
from tracebench_analysis.whatif import Recap

__all__ = ["Recap", "RunRecap", "Standing", "recap_run"]
