"""Seeded, disjoint splits of cases, and the hash of what is in them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from tracebench_core.ids import derive_seed
from tracebench_core.specs import Example
from tracebench_hfqa.families.family import Case

SHORT = 12


def content_hash(example: Example) -> str:
    """Return the SHA-256 of what an example holds, whatever its id."""
    text = json.dumps([example.input, example.reference], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def question_hash(example: Example) -> str:
    """Return the SHA-256 of what an example asks, whatever its case, its spaces and its answer."""
    options = [part for option in example.input["options"] for part in option]
    asked = [example.input["question"], example.input["context"], *options]
    text = "\0".join(" ".join(str(part).casefold().split()) for part in asked)
    return hashlib.sha256(text.encode()).hexdigest()


def once(examples: Iterable[Example], *, seen: AbstractSet[str] = frozenset()) -> list[Example]:
    """Return the first example of each question, without those whose question was seen elsewhere."""
    first: dict[str, Example] = {}
    for example in examples:
        first.setdefault(question_hash(example), example)
    return [example for asked, example in first.items() if asked not in seen]


def rows_hash(examples: Sequence[Example]) -> str:
    """Return one hash of a sequence of examples, order included."""
    return hashlib.sha256("\n".join(map(content_hash, examples)).encode()).hexdigest()


def examples_of(cases: Sequence[Case], *, label: str) -> list[Example]:
    """Return the cases as examples named for their content; of equal ones the first."""
    found: dict[str, Example] = {}
    for case in cases:
        digest = content_hash(case.example(""))
        found.setdefault(digest, case.example(f"{label}-{digest[:SHORT]}"))
    return list(found.values())


def shuffled(examples: Sequence[Example], *, seed: int, label: str) -> list[Example]:
    """Return the examples in an order that the seed alone decides, however the file was ordered."""
    drawn = sorted(examples, key=content_hash)
    random.Random(derive_seed(seed, "rows", label)).shuffle(drawn)  # noqa: S311 - reproducible, not secret
    return drawn


def shares(available: int, wanted: Sequence[int]) -> list[int]:
    """Cut a number of rows by the wanted sizes; when they do not suffice, in proportion, each wanted part with one row at least.

    The sum never exceeds `available`.
    """
    total = sum(wanted)
    if total <= available:
        return list(wanted)
    parts = [min(w, max(1, w * available // total)) if w else 0 for w in wanted]
    while sum(parts) > available:
        parts[parts.index(max(parts))] -= 1
    for at in sorted(range(len(parts)), key=lambda i: wanted[i] * available / total - parts[i], reverse=True):
        if sum(parts) < available and parts[at] < wanted[at]:
            parts[at] += 1
    return parts
