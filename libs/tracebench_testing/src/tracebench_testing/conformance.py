"""The checks as classes for pytest: subclass one, name the plugin, and every check is a test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from tracebench_engine.api.checking import About
from tracebench_testing.checks.plugin import PluginUnderTest
from tracebench_testing.kit import CHECKS, applies, ask


class Conformance:
    """Base of the classes. A check is waived by overriding its test with the reason.

    ```python
    class TestMySuite(SuiteConformance):
        plugin = "my_suite"

        def test_tb308(self) -> None:
            pytest.skip("the original benchmark tests on what it trains on")
    ```
    """

    plugin: ClassVar[str]
    """Its name: that of the entry point."""
    only: ClassVar[tuple[str, ...]] = ()
    """Tasks and parts that are looked at; all when empty."""
    deep: ClassVar[bool] = False
    """All tasks, rather than a few."""
    options: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """`eval_kwargs` by task id, and settings by name of a part."""
    root: ClassVar[Path | None] = None

    def demand(self, code: str) -> None:
        """Make one check and fail with what it finds; skip when nothing could be asked."""
        subject = _subject(type(self))  # type: ignore[arg-type]  # classes can be hashed
        if not applies(CHECKS[code], subject):
            _skip(f"`{self.plugin}` offers no {CHECKS[code].about}")
        outcome = ask(CHECKS[code], subject)
        assert not outcome.findings, "\n".join(  # noqa: S101 - pytest's own way of failing
            f"{f.code} {f.subject}: {f.message}" for f in outcome.findings
        )
        for warned in outcome.warned:
            warnings.warn(f"{warned.code} {warned.subject}: {warned.message}", stacklevel=2)
        if outcome.skipped:
            _skip("; ".join(f"{s.subject}: {s.reason}" for s in outcome.skipped[:3]))


class PluginConformance(Conformance):
    """Of a plugin as a whole: TB1xx."""


class SuiteConformance(Conformance):
    """Of a suite's tasks: TB3xx."""


class GuideConformance(Conformance):
    """Of guides: TB40x."""


class OptimizerConformance(Conformance):
    """Of proposers: TB41x."""


class LoggerConformance(Conformance):
    """Of loggers: TB42x."""


class EnvironmentConformance(Conformance):
    """Of environments: TB43x."""


class ExecutorConformance(Conformance):
    """Of executors: TB44x."""


@cache
def _subject(of: type[Conformance]) -> PluginUnderTest:
    return PluginUnderTest(of.plugin, of.deep, of.only, of.root, of.options)


def _skip(reason: str) -> None:
    import pytest  # noqa: PLC0415 - not a dependency of the core

    pytest.skip(reason)


def _test(code: str) -> Callable[[Conformance], None]:
    def test(self: Conformance) -> None:
        self.demand(code)

    test.__doc__ = CHECKS[code].title
    test.__name__ = f"test_{code.lower()}"
    return test


_CLASSES: Mapping[About, type[Conformance]] = {
    "plugin": PluginConformance,
    "task": SuiteConformance,
    "guide": GuideConformance,
    "optimizer": OptimizerConformance,
    "logger": LoggerConformance,
    "environment": EnvironmentConformance,
    "executor": ExecutorConformance,
}
for _check in CHECKS.values():
    if _check.about in _CLASSES:
        setattr(_CLASSES[_check.about], f"test_{_check.code.lower()}", _test(_check.code))
