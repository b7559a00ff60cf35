"""The scripted model: it knows every field, and improves, harms or misreads what it is shown with stated probabilities.

It is no language model. A model `fields/p35-h45-r5` makes a candidate better by one step in 35 of 100 answers, worse in 45, does not
understand in 5, and otherwise gives back what it was shown. Its answers depend on the prompt, on how often the job has asked it, and on the
job's seed, so that neither jobs which run at the same time nor calls side by side change each other's.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.contracts import EnvironmentContext, NotMeasured
from tracebench_core.specs import Message, Values
from tracebench_fields.drawing import draw, named_in
from tracebench_fields.field import Field
from tracebench_fields.formats import answer, text_of
from tracebench_fields.task import drawing_of
from tracebench_testing.fake_openai import FakeOpenAI

NAME = re.compile(r"p(\d{1,3})-h(\d{1,3})-r(\d{1,3})")
LOST = "I see no field here that I know."


@dataclass(frozen=True, slots=True)
class Quality:
    """Probabilities of a better, a worse and a useless answer; what is left gives back what was shown."""

    improves: float
    harms: float
    misreads: float


def quality_of(model: str) -> Quality:
    """Read a model's name.

    Raises:
        ValueError: it is not `p<percent>-h<percent>-r<percent>`, or comes to more than 100.
    """
    match = NAME.fullmatch(model)
    if match is None:
        raise ValueError(
            f"`fields/{model}` is no scripted model: write `fields/p35-h45-r5`, percentages of better, worse and useless answers"
        )
    improves, harms, misreads = (int(part) / 100 for part in match.groups())
    if improves + harms + misreads > 1.0 + 1e-9:
        raise ValueError(f"the percentages of `fields/{model}` come to more than 100")
    return Quality(improves, harms, misreads)


class Asked:
    """Counts how often each job asked the same, and draws what an answer is by."""

    def __init__(self) -> None:
        self._met: Counter[tuple[str, bytes]] = Counter()
        self._lock = threading.Lock()

    def rng(self, prompt: str, job: Mapping[str, Any]) -> random.Random:
        """Return the generator of the next answer to a prompt: the same for jobs of one seed that ask it equally often."""
        digest = hashlib.sha256(prompt.encode("utf-8", "replace")).digest()
        met = job.get("occurrence", self._number(job.get("job", ""), digest)) + 1
        seed = f"{digest.hex()} {met} {job.get('seed', '')} {job.get('sampling', '')}".rstrip()
        return random.Random(seed)  # noqa: S311 - reproducible, not secret

    def _number(self, job: str, digest: bytes) -> int:
        with self._lock:
            self._met[job, digest] += 1
            return self._met[job, digest] - 1


class Script:
    """Answers prompts about fields."""

    def __init__(self, quality: Quality) -> None:
        self._quality = quality
        self._asked = Asked()

    def __call__(self, messages: Sequence[Message], told: str | None = None) -> str:
        """Return the answer to a chat; `told` says as JSON which job asks. Without it a label in the chat has to name the field."""
        prompt = "\n".join(text_of(m.get("content")) for m in messages)
        job = json.loads(told) if told else {}
        rng = self._asked.rng(prompt, job)
        drawing = drawing_of(job["task"], job["options"]) if job else named_in(prompt)
        if drawing is None:
            return LOST
        if rng.random() < self._quality.misreads:
            return "I would think about it once more before I changed anything."
        field = draw(drawing)
        names = [parameter.name for parameter in field.parameters]
        said = answer(messages, names, lambda shown: self._changed(field, shown, rng) if shown else shown, rng)
        return LOST if said is None else said

    def _changed(self, field: Field, values: Values, rng: random.Random) -> Values:
        draw_ = rng.random() * (1.0 - self._quality.misreads)
        if draw_ < self._quality.improves:
            return field.improve(values, rng)
        if draw_ < self._quality.improves + self._quality.harms:
            return field.harm(values, rng)
        return values


class ScriptedModel:
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
            quality = quality_of(self._model)
        except ValueError as err:
            raise NotMeasured(str(err), retry=False) from err
        self._server = FakeOpenAI(told=Script(quality))
        return self._server.base_url

    def close(self) -> None:
        """End the server. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None


def address(_model: str, handle: str) -> str:
    """Return the address at which the model is asked."""
    return handle
