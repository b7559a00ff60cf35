"""The conformance kit, where it is installed: its checks of a plugin, what came of each, and its attacks on tasks.

The kit stands on this API, so it is not imported here but found by its name when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins import PluginHost, load_ref

__all__ = [
    "Attacked",
    "Check",
    "Finding",
    "Outcome",
    "Skipped",
    "attack_tasks",
    "attacked_versions",
    "attackers_versions",
    "check_plugin",
    "checks",
]

OWNER = "the conformance kit"


def _kit(name: str) -> Any:
    if find_spec("tracebench_testing") is None:
        raise MissingRequirementError(
            "The conformance kit is not installed.", hint='pip install "tracebench-engine[testing]"'
        )
    return load_ref(f"tracebench_testing.{name}", owner=OWNER)


class Check(Protocol):
    """One check of the kit."""

    @property
    def code(self) -> str:
        """As in `TB301`; codes keep their meaning."""
        ...

    @property
    def about(self) -> str:
        """What it looks at: a plugin, a task, or a kind of part."""
        ...

    @property
    def title(self) -> str:
        """What is asked, in a sentence."""
        ...

    @property
    def deep(self) -> bool:
        """Whether it takes long, and is asked only where that is wanted."""
        ...


class Finding(Protocol):
    """Something that is wrong, or will be with the next minor version."""

    @property
    def subject(self) -> str:
        """The task or part that it is about; empty for the whole plugin."""
        ...

    @property
    def message(self) -> str:
        """What is wrong."""
        ...


class Skipped(Protocol):
    """A check that could not be made on this machine."""

    @property
    def subject(self) -> str:
        """The task or part that it is about; empty for the whole plugin."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...


class Outcome(Protocol):
    """What came of one check."""

    @property
    def check(self) -> Check:
        """Which."""
        ...

    @property
    def findings(self) -> Sequence[Finding]:
        """What is wrong; the check failed where there is one."""
        ...

    @property
    def warned(self) -> Sequence[Finding]:
        """What will be wrong."""
        ...

    @property
    def skipped(self) -> Sequence[Skipped]:
        """What could not be asked."""
        ...


class Attacked(Protocol):
    """What became of the attacks on one task."""

    @property
    def task(self) -> str:
        """Its full id."""
        ...

    @property
    def withstood(self) -> int:
        """Forgeries that earned nothing."""
        ...

    @property
    def by(self) -> Mapping[str, int]:
        """How many of them each set of attacks has tried, by its name; `cases` are those of the tasks' authors."""
        ...

    @property
    def believed(self) -> Sequence[str]:
        """Those that did, in words."""
        ...

    @property
    def remark(self) -> str:
        """What a reader of the number has to know, in words."""
        ...

    @property
    def skipped(self) -> str:
        """Why some or all could not be tried."""
        ...


def checks() -> Mapping[str, Check]:
    """Return the kit's checks by code, in the order in which they are asked."""
    found: Mapping[str, Check] = _kit("kit:CHECKS")
    return found


def check_plugin(
    name: str, *, deep: bool = False, only: Sequence[str] = (), codes: Iterable[str] = (), root: Path | None = None
) -> Iterator[Outcome]:
    """Make the checks that apply to a plugin, those of some `codes` or all, and yield what came of each as it is made.

    With `deep`, all its tasks are looked at and the checks that take long are made; `only` names tasks and parts.

    Raises:
        TraceBenchError: when there is no such plugin.
    """
    plugin = _kit("checks.plugin:PluginUnderTest")(name, deep=deep, only=tuple(only), root=root)
    plugin.host.load(name)
    yield from _kit("kit:check_plugin")(plugin, codes=codes)


def attack_tasks(host: PluginHost, names: Sequence[str], *, root: Path | None = None) -> Iterator[Attacked]:
    """Yield what becomes of every attack on each of the tasks that names mean; `root` is where the host's local tasks are.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    yield from _kit("attacking:attack_tasks")(host, names, root=root)


def attacked_versions(host: PluginHost, task_ids: Sequence[str]) -> dict[str, str]:
    """Return the versions of the distributions that tasks are of, by name; of a task in a file there is none."""
    found: dict[str, str] = _kit("attacking:attacked_versions")(host, task_ids)
    return found


def attackers_versions(host: PluginHost) -> dict[str, str]:
    """Return the versions of the distributions whose sets of attacks are tried, by name."""
    found: dict[str, str] = _kit("attacking:attackers_versions")(host)
    return found
