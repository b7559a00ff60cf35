"""The conformance kit, where it is installed: its checks of a plugin, what came of each, and its attacks on tasks.

The kit stands on this API, so it is not imported here but found by its name when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins import PluginHost, load_ref

About = Literal["plugin", "task", "trainer", "guide", "optimizer", "logger", "environment", "executor"]
"""What a check looks at: a plugin, its tasks, or a kind of part."""
_OWNER = "the conformance kit"


def _kit(name: str) -> Any:
    if find_spec("tracebench_testing") is None:
        raise MissingRequirementError(
            "The conformance kit is not installed.", hint='pip install "tracebench-engine[testing]"'
        )
    return load_ref(f"tracebench_testing.{name}", owner=_OWNER)


class Finding(NamedTuple):
    """One thing that is wrong."""

    code: str
    message: str
    subject: str = ""
    """The id of the task or part that it is about; empty for the whole plugin or trainer."""


class Skipped(NamedTuple):
    """A check that could not be made on this machine."""

    code: str
    reason: str
    subject: str = ""


class Warned(NamedTuple):
    """One thing that will be wrong with the next minor version."""

    code: str
    message: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the kit."""

    code: str
    """As in `TB301`; codes keep their meaning."""
    about: About
    run: Callable[[Any], Iterable[Finding | Skipped | Warned]]
    """Called with the plugin under test."""
    text: str
    """What is asked, why, and how to mend it."""
    deep: bool = False
    """It takes long: only `--deep` asks it."""

    @property
    def title(self) -> str:
        """What is asked, in a sentence."""
        return " ".join(self.text.partition("\n\n")[0].split()).rstrip(".")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one check; it failed where there is a finding."""

    check: Check
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    warned: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Attacked:
    """What became of the attacks on one task."""

    task: str
    withstood: int = 0
    """Forgeries that earned nothing."""
    by: Mapping[str, int] = field(default_factory=dict)
    """What of them each set of attacks has tried, by its name; `cases` are those of the tasks' authors."""
    believed: tuple[str, ...] = ()
    """Those that did, in words."""
    skipped: str = ""
    """Why some or all could not be tried."""
    remark: str = ""
    """What a reader of the number has to know, in words."""


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
