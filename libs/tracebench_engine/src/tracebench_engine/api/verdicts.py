"""The verdict on a run: what `run` ends with and `show` begins with, in words and as data."""

from __future__ import annotations

from tracebench_analysis.logs import GIVEN
from tracebench_engine.builtin.verdict import LARGE, verdict_at_end

__all__ = ["GIVEN", "LARGE", "verdict_at_end"]
