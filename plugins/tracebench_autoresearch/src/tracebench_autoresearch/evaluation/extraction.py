"""Read metrics from what a command printed or wrote."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tracebench_autoresearch.evaluation.box import Ran
from tracebench_autoresearch.experiment import Metric
from tracebench_core.averages import LARGEST

_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?))"
_COUNTS = re.compile(r"\b(\d+) (passed|failed|errors?|xfailed|xpassed)\b")
_UNITTEST = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"\b(?:failures|errors)=(\d+)")
_TOTAL = re.compile(r"^TOTAL\b.*?(\d+(?:\.\d+)?)%\s*$", re.MULTILINE)
_SHOWN = 80


class NoMetric(ValueError):  # noqa: N818 - says what was found
    """The metric is not there; the text says what was looked for."""


def read_metric(metric: Metric, ran: Ran) -> float:
    """Return a metric's value, at most `LARGEST` in size.

    Raises:
        NoMetric: when it is not there, is no finite number, or is too large to be averaged.
    """
    found = _find(metric, ran)
    try:
        value = float(found)
    except (TypeError, ValueError) as err:
        raise NoMetric(f"`{metric.name}` is {str(found)[:_SHOWN]!r}, which is no number") from err
    if not math.isfinite(value):
        raise NoMetric(f"`{metric.name}` is {value}")
    if abs(value) > LARGEST:
        raise NoMetric(f"`{metric.name}` is {value:.6g}, and nothing beyond {LARGEST:g} can be averaged")
    return value


def _find(metric: Metric, ran: Ran) -> Any:
    match metric.kind:
        case "regex":
            return _regex(metric, ran)
        case "json":
            return _json(metric, ran)
        case "pytest":
            return _pytest(ran)
        case "coverage":
            return _coverage(ran)
        case "exit_code":
            return _exit_code(ran)
        case "cpu_seconds" | "speedup":
            raise NoMetric(f"the processor time of the box cannot be told, and so no `{metric.name}`")


def _regex(metric: Metric, ran: Ran) -> Any:
    pattern = metric.pattern or rf"(?im)^\s*{re.escape(metric.name)}\s*[:=\s]\s*{_NUMBER}"
    last = None
    for last in re.finditer(pattern, ran.stdout):  # noqa: B007 - the last one counts
        pass
    if last is None:
        raise NoMetric(f"`{metric.name}` is not in the output (nothing matches `{pattern}`)")
    return last[1] if last.re.groups else last[0]


def _json(metric: Metric, ran: Ran) -> Any:
    where = f"`{metric.file}`" if metric.file else "the output"
    if metric.file and metric.file not in ran.outputs:
        raise NoMetric(f"{where} was not written")
    written = ran.outputs[metric.file].decode(errors="replace") if metric.file else ran.stdout
    path = metric.path or metric.name
    try:
        place: Any = json.loads(written)
        for key in path.split("."):
            place = place[int(key)] if isinstance(place, list) else place[key]
    except ValueError as err:
        raise NoMetric(f"{where} is no JSON") from err
    except (KeyError, IndexError, TypeError) as err:
        raise NoMetric(f"{where} has nothing at `{path}`") from err
    if isinstance(place, bool):
        raise NoMetric(f"`{metric.name}` is {place}, which is no number")
    return place


def _pytest(ran: Ran) -> float:
    """Return the share of tests that passed, by pytest's or unittest's last line."""
    lines = [line for line in ran.stdout.splitlines() if _COUNTS.search(line)]
    if lines:
        counts: Mapping[str, int] = {what: int(n) for n, what in _COUNTS.findall(lines[-1])}
        good = counts.get("passed", 0) + counts.get("xfailed", 0)
        return good / sum(counts.values()) if any(counts.values()) else 0.0
    if ran_tests := _UNITTEST.findall(ran.stderr):
        total, bad = int(ran_tests[-1]), sum(map(int, _UNITTEST_BAD.findall(ran.stderr)))
        return (total - bad) / total if total else 0.0
    raise NoMetric("no summary of tests is in the output")


def _coverage(ran: Ran) -> str:
    if not (found := _TOTAL.findall(ran.stdout)):
        raise NoMetric("no line `TOTAL … n%` is in the output")
    return str(found[-1])


def _exit_code(ran: Ran) -> float:
    if ran.code is None:
        raise NoMetric("the command has no exit code")
    return float(ran.code)
