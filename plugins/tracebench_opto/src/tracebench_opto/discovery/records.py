"""What is known of a class that was found: where it is, what it takes, and how it did when it was tried."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import Requirement
from tracebench_core.specs.base import Spec

Status = Literal["ok", "broken", "needs", "excluded", "untried"]


class FoundClass(Spec):
    """One trainer class of the installed build."""

    module: str
    qualname: str
    file_hash: str
    """SHA-256 of the module's file."""
    constructor: dict[str, JsonValue] = Field(default_factory=dict)
    """Keyword arguments with their defaults; None where a default is no JSON."""
    train: dict[str, JsonValue] = Field(default_factory=dict)
    unimportable: str = ""
    """Why the module cannot be imported, or nothing."""
    abstract: bool = False

    @property
    def key(self) -> str:
        """Module and class, joined as in a `Ref`."""
        return f"{self.module}:{self.qualname}"

    @property
    def identifier(self) -> str:
        """The same as one Python name."""
        return f"{self.module}.{self.qualname}".replace(".", "__")


class Verdict(Spec):
    """What trying a class out has shown."""

    status: Status
    reason: str = ""
    requires: tuple[Requirement, ...] = ()
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings that it needs to run at all here, other than its own defaults."""

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}" if self.reason else self.status


UNTRIED = Verdict(status="untried", reason="not tried out yet: that happens when a config or a command names it")


class Discovered(Spec):
    """A class and its verdict, under the id by which it is offered."""

    id: str
    """`opto:ClassName`, or `opto:module.ClassName` where two modules have a class of one name."""
    found: FoundClass
    verdict: Verdict


def in_words(error: BaseException) -> str:
    """Return an error in one line: its type, where that says something, and the first line of what it says."""
    words = (str(error).strip().splitlines() or [""])[0][:200].rstrip(".")
    return words if isinstance(error, TraceBenchError) else f"{type(error).__name__}: {words}".rstrip(": ")
