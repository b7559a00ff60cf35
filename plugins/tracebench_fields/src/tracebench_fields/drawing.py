"""From a name to a field: the label that says everything but the secret, and the draw."""

from __future__ import annotations

import hashlib
import hmac
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Field, Size
from tracebench_fields.releases import secret_of

LABEL = re.compile(r"Field ([a-z]+)/([\w.-]+)/(\d+)/([a-z]+)/([\d.]+(?:e-\d+)?):")


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a field is drawn by. `deception` lies between 0 and 1."""

    family: str
    release: str
    instance: int
    size: Size
    deception: float

    @property
    def label(self) -> str:
        """The words by which a prompt names the field, for the scripted model to find."""
        return f"Field {self.family}/{self.release}/{self.instance}/{self.size}/{self.deception:g}:"

    def rng(self, purpose: str) -> random.Random:
        """Return the generator of one purpose; without the secret nobody can know what it draws.

        Raises:
            UsageError: the release's secret is not here.
        """
        key = secret_of(self.release).encode()
        digest = hmac.new(key, f"{self.label}{purpose}".encode(), hashlib.sha256).hexdigest()
        return random.Random(digest)  # noqa: S311 - the secret is in the digest


@lru_cache(maxsize=64)
def draw(drawing: Drawing) -> Field:
    """Draw the field.

    Raises:
        UsageError: the release's secret is not here.
    """
    return FAMILIES[drawing.family].draw(drawing.rng("field"), drawing.size, drawing.deception)


def named_in(text: str) -> Drawing | None:
    """Return what the last label in a text names, or None."""
    found = LABEL.findall(text)
    if not found:
        return None
    family, release, instance, size, deception = found[-1]
    if family not in FAMILIES or size not in get_args(Size):
        return None
    return Drawing(family, release, int(instance), size, float(deception))
