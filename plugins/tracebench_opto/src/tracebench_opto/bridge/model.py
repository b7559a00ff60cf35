"""The model object that opto's optimizers are given: every version's contract, over `problem.complete`."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

from tracebench_core.contracts import Problem
from tracebench_core.errors import ModelError
from tracebench_core.proposing.asking import Asked
from tracebench_core.specs import Message, Role

ESCAPED = "TERM\N{WORD JOINER}INATE"
"""What replies hold in place of the word that opto takes for "no change" wherever it stands."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""As in `<module.function.<locals>.Class object at 0x7f29573fa6d0>`."""


class ModelFailure(BaseException):
    """Carries a `ModelError` through opto, which swallows or retries ordinary exceptions."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


class TraceModel:
    """Callable with `messages` by keyword or first; ignores what is not ours to pass on; returns `.choices[i].message.content`.

    Raises:
        BudgetExhausted: as the problem does.
        ModelFailure: when the model cannot be asked. A completion that is none becomes an empty text.
    """

    def __init__(self, problem: Problem, *, role: Role = "optimizer", max_tokens: int | None = None) -> None:
        self._problem = problem
        self._role = role
        self._max_tokens = max_tokens
        self.asked = Asked()
        """The proposal that it is asked for."""

    def __call__(self, messages: Sequence[Message] = (), *, n: int | None = 1, **options: Any) -> Any:
        """Ask the model; of the options, only a temperature is passed on."""
        sampling = {"temperature": options["temperature"]} if options.get("temperature") is not None else {}
        if self._max_tokens is not None:
            sampling["max_tokens"] = self._max_tokens
        return _response(self._ask([_plain(m) for m in messages], n or 1, sampling))

    def asking(self, asked: Asked) -> Self:
        """Return one that asks the model that was chosen for a proposal, and counts what it costs."""
        chosen = copy.copy(self)
        chosen.asked = asked
        return chosen

    def __deepcopy__(self, memo: dict[int, Any]) -> TraceModel:
        """Return itself: newer versions copy optimizers, and a copied meter would not count."""
        return self

    def _ask(self, messages: Sequence[Message], n: int, sampling: dict[str, Any]) -> list[str]:
        try:
            completions = self._problem.complete(messages, role=self._role, n=n, **self.asked.sampling, **sampling)
        except ModelError as err:
            if err.kind != "malformed":
                raise ModelFailure(err) from err
            return [""] * n
        for completion in completions:
            self.asked.pay(completion.usage)
        return [c.text.replace("TERMINATE", ESCAPED) for c in completions]


class CreatingModel(TraceModel):
    """For those versions that call `.create` and know no other way."""

    def create(self, messages: Sequence[Message] = (), **options: Any) -> Any:
        """Ask the model."""
        return self(messages, **options)


def restored(value: Any) -> Any:
    """Return a value from a reply with the escaped word as the model wrote it."""
    if isinstance(value, str):
        return value.replace(ESCAPED, "TERMINATE")
    if isinstance(value, dict):
        return {restored(k): restored(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [restored(v) for v in value]
    return value


class _Response(SimpleNamespace):
    """A completion in OpenAI's form, by attribute and by key."""

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)


def _response(texts: Sequence[str]) -> _Response:
    choices = [_Response(index=i, message=_Response(role="assistant", content=t)) for i, t in enumerate(texts)]
    return _Response(choices=choices, content=texts[0] if texts else "")


def _plain(message: Message) -> Message:
    """Return a message with its text in one piece, as the model wrote it, and without memory addresses."""
    content = message.get("content")
    if isinstance(content, list) and all(block.get("type") == "text" for block in content):
        content = "\n".join(block["text"] for block in content)
    if isinstance(content, str):
        content = _ADDRESS.sub("", restored(content))
    return {**message, "content": content}
