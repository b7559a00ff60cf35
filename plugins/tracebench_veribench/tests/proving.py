"""What the tests share: a context outside of a run, and executable scripts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.specs import Completion


def requires_coq(test: Any) -> Any:
    """Mark a test that asks Coq: half a second or more each."""
    here = shutil.which("coqtop") is not None
    return pytest.mark.heavy("coq")(
        pytest.mark.skipif(not here, reason="Coq is not installed: apt-get install coq")(test)
    )


def one_in(number: int, values: Iterable[Any]) -> list[Any]:
    """Return values as parameters: the first and then one in so many; the others wait for the group `coq_soak`."""
    soak = pytest.mark.heavy("coq_soak")
    return [pytest.param(value, marks=soak if turn % number else ()) for turn, value in enumerate(values)]


@dataclass
class Held:
    """A context of one evaluation outside of a run: real sandbox, given environments, a scripted model."""

    sandbox: Any
    handles: Mapping[str, Any]
    reply: Callable[[list[dict[str, Any]], str], str] = lambda messages, role: ""
    records: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    asked: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)

    def environment(self, name: str) -> Any:
        return self.handles[name]

    def record(self, name: str, data: Mapping[str, Any]) -> None:
        self.records.append((name, data))

    def activity(self, text: str, *, done: int | None = None, total: int | None = None) -> None:
        pass

    def complete(
        self, messages: list[dict[str, Any]], *, role: str = "agent", n: int = 1, **_: Any
    ) -> list[Completion]:
        self.asked.append((role, list(messages)))
        return [Completion(text=self.reply(messages, role), model="scripted")] * n


def write_tool(folder: Path, name: str, text: str) -> Path:
    """Write an executable script."""
    place = folder / name
    place.write_text(text, encoding="utf-8")
    place.chmod(0o755)
    return place
