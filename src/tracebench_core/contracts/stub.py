"""How a plugin teaches the stub model the answer format of its prompts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tracebench_core.specs import Message


class Propose(Protocol):
    """Returns new values for some of those shown, by seed and within the job's bounds; none at all from the stub `empty`."""

    def __call__(
        self, values: Mapping[str, Any], hints: Mapping[str, Mapping[str, Any]] | None = None, /
    ) -> dict[str, Any]:
        """`hints` may say more of a value by its name: `kind` (`code`, `text`), `minimum`, `maximum`, `choices`, `max_length`."""
        ...


class StubFormat(Protocol):
    """One answer format."""

    def __call__(self, messages: Sequence[Message], rng: random.Random, propose: Propose, /) -> str | None:
        """Return a well-formed answer, the same for the same messages and generator; None for a prompt of another format."""
        ...
