"""A scripted model of stated quality for real tasks whose calibrations order candidates: it moves what it is shown along the ladder.

A task's cases of kind `order` are its ladder (`rungs`). A model `ladders/p15-h45-r5` goes up by one step in 15 of 100 answers and down in
45, does not understand in 5, and else gives back what it was shown. What the candidates are worth the task itself says: they run in its
sandbox, on its instances, judged by its guide.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import EnvironmentContext, NotMeasured
from tracebench_core.specs import Message, Values
from tracebench_fields.formats import answer, text_of
from tracebench_fields.model import LOST, Asked, Quality, quality_of
from tracebench_open.rungs import USED, Ladder, ladder
from tracebench_testing.fake_openai import FakeOpenAI


class Climber:
    """Answers prompts about tasks that have ladders."""

    def __init__(self, quality: Quality) -> None:
        self._quality = quality
        self._asked = Asked()

    def __call__(self, messages: Sequence[Message], told: str | None = None) -> str:
        """Return the answer to a chat, which depends on its words, on how often the job asked so, and on the job's seed.

        Args:
            messages: the chat.
            told: which job asks, as JSON. Without it the programs in the chat have to name their task, as those with dials do.
        """
        prompt = "\n".join(text_of(m.get("content")) for m in messages)
        job: Mapping[str, Any] = json.loads(told) if told else {}
        rng = self._asked.rng(prompt, job)
        if rng.random() < self._quality.misreads:
            return "I would think about it once more before I changed anything."
        known = _known(job)
        names = sorted({name for one in known for name in one.names})
        if not known:
            return LOST
        whose = known[0].whose if len(known) == 1 else lambda _: None
        said = answer(messages, names, lambda shown: self._changed(known, shown, rng), rng, whose=whose)
        return LOST if said is None else said

    def _changed(self, known: Sequence[Ladder], shown: Values, rng: random.Random) -> Values:
        draw = rng.random() * (1.0 - self._quality.misreads)
        by = 1 if draw < self._quality.improves else -1 if draw < self._quality.improves + self._quality.harms else 0
        for one in known if by else ():
            shown = one.changed(shown, by, rng)
        return shown


def _known(job: Mapping[str, Any]) -> list[Ladder]:
    """Return the ladder of the task that asks, if it has one; of no task in particular, those whose programs name theirs."""
    if not job:
        return [ladder(task) for task in USED]
    try:
        return [ladder(job["task"], json.dumps(job.get("options", {}), sort_keys=True))]
    except ValueError:
        return []


class LadderModel:
    """The model behind an address on 127.0.0.1, as an environment of a run."""

    def __init__(self, *, model: str) -> None:
        self._model = model
        self._server: FakeOpenAI | None = None

    def open(self, context: EnvironmentContext) -> str:
        """Start the server and return its address.

        Raises:
            NotMeasured: the name says no quality.
        """
        try:
            self._server = FakeOpenAI(told=Climber(quality_of(self._model)))
        except ValueError as err:
            raise NotMeasured(str(err), retry=False) from err
        return self._server.base_url

    def close(self) -> None:
        """End the server. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None


def address(_model: str, handle: str) -> str:
    """Return the address at which the model is asked."""
    return handle
