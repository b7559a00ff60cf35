"""Guide and logger in opto's clothes: every score goes through `problem.evaluate`, every number into the job's record."""

from __future__ import annotations

from typing import Any

from tracebench_opto.bridge import library
from tracebench_opto.discovery.bench import Bench, Shared, Submission


class _Scorer(Shared):
    """The guide: whatever a trainer asks it goes through the problem."""

    bench: Bench

    def get_feedback(self, query: Any, response: Any, reference: Any = None, **_: Any) -> tuple[float, str]:
        """Return score and feedback."""
        submission = getattr(response, "data", response)
        if not isinstance(submission, Submission):
            return self.bench.failed, str(submission)
        score, text, _metrics = self.bench.score(submission)
        return score, text

    def get_score_dict(self, query: Any, response: Any, reference: Any = None, **_: Any) -> dict[str, float]:
        """Return the score and all metrics."""
        submission = getattr(response, "data", response)
        if not isinstance(submission, Submission):
            return {"score": self.bench.failed}
        score, _text, metrics = self.bench.score(submission)
        return {"score": score, **metrics}


def build_guide(bench: Bench) -> Any:
    """Return a guide of whatever kind this build of opto knows."""
    module = library.load("opto.trainer.guide")
    base = getattr(module, "Guide", None) or module.AutoGuide
    guide = type("Scorer", (_Scorer, base), {})()
    guide.bench = bench
    return guide


class _Log(Shared):
    """The logger: numbers go into the job's record."""

    bench: Bench

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what loggers are given, and need none of it."""

    def log(self, name: str, data: Any, *_: Any, **__: Any) -> None:
        """Keep a number; opto logs texts too."""
        if isinstance(data, int | float) and not isinstance(data, bool):
            self.bench.problem.log(name, float(data))


def build_logger(bench: Bench) -> Any:
    """Return a logger of whatever kind this build of opto knows."""
    try:
        base = getattr(library.load("opto.trainer.loggers"), "BaseLogger", object)
    except Exception:  # noqa: BLE001 - older builds have no such module
        base = object
    logger = type("Log", (_Log,) if base is object else (_Log, base), {})()
    logger.bench = bench
    return logger
