"""fast_p at the thresholds of KernelBench's paper: the share of kernels that are correct and more than p times as fast."""

from __future__ import annotations

FAST = {"fast_0": 0.0, "fast_0_5": 0.5, "fast_0_8": 0.8, "fast_1": 1.0, "fast_1_5": 1.5, "fast_2": 2.0}
"""Names by which metrics and aggregates are known, and p."""


def fast_metrics(score: float) -> dict[str, float]:
    """Return, for one kernel, 1 for each threshold that its speed-up is above, else 0; a wrong kernel's speed-up is 0."""
    return {name: float(score > p) for name, p in FAST.items()}
