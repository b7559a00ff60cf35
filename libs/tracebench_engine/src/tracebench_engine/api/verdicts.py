"""The verdict on a run: what `run` ends with and `show` begins with, in words and as data."""

from __future__ import annotations

from tracebench_analysis.logs import GIVEN as GIVEN
from tracebench_engine.builtin.verdict import LARGE as LARGE, verdict_at_end as verdict_at_end
