"""What is asked again: sources with their hashes, and claims with the rule by which each is judged, fixed by one head."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from tracebench_core.errors import UsageError
from tracebench_core.ids import canonical_json, content_hash
from tracebench_open.claims.law import Found, Verdict, verdict_of
from tracebench_open.claims.trees import Source
from tracebench_open.merkle import head_of

SHIPPED = "register.toml"


class Claim(BaseModel):
    """One claim, or one question of ours about an artefact that somebody published."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    by: str
    said: str = ""
    """In the authors' words; empty where nobody claimed it and the question is ours."""
    where: str
    """Of the words, or of what the question is about."""
    asked: str
    """What is measured, in a sentence."""
    unit: str = ""
    at_least: str | None = None
    at_most: str | None = None
    above: bool = False
    """Whether `at_least` itself is not enough."""
    digits: int = 4
    """Decimal places that are shown."""
    how: str = Field(pattern=r"^[a-z_]+:[a-z_]+$")
    """`module:function` of this package."""
    shared: str | None = None
    """The name of options that claims have in common."""
    options: dict[str, JsonValue] = {}
    differs: tuple[str, ...] = Field(min_length=1)
    """All that is not as it was for the authors."""
    seen: bool
    """Whether figures of an earlier look were known when the rule was written."""

    @model_validator(mode="after")
    def _has_a_region(self) -> Claim:
        if self.at_least is None and self.at_most is None:
            raise ValueError("one of `at_least` and `at_most` is needed")
        for end in (self.at_least, self.at_most):
            if end is not None:
                Fraction(end)
        return self

    def judge(self, found: Found) -> Verdict:
        """Return how the claim stands to what was found."""
        low, high = (None if end is None else Fraction(end) for end in (self.at_least, self.at_most))
        return verdict_of(found, low, high, above=self.above)


class Refused(BaseModel):
    """A claim that is not asked again, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    said: str
    where: str
    why: str


class Register(BaseModel):
    """Sources, claims, and what is not asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: tuple[Source, ...]
    claim: tuple[Claim, ...]
    not_asked: tuple[Refused, ...] = ()
    shared: dict[str, dict[str, JsonValue]] = {}
    """Options that claims have in common, by name."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Register:
        for names in ([s.name for s in self.source], [c.id for c in self.claim]):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"`{twice[0]}` is there twice")
        for claim in self.claim:
            if claim.shared is not None and claim.shared not in self.shared:
                raise ValueError(f"`{claim.id}` shares `{claim.shared}`, which is not there")
        return self

    def options_of(self, claim: Claim) -> dict[str, Any]:
        """Return all options of a claim."""
        return {**(self.shared[claim.shared] if claim.shared else {}), **claim.options}

    @property
    def sources(self) -> Mapping[str, Source]:
        """By name."""
        return {source.name: source for source in self.source}

    def mark(self, claim: Claim) -> str:
        """Return a digest over all that a figure and its verdict follow from: the rule, its options, the pinned files, and the code."""
        options = self.options_of(claim)
        rule = claim.model_dump(mode="json", include={"id", "at_least", "at_most", "above", "how"})
        used = [
            self.sources[value].model_dump(mode="json")
            for value in options.values()
            if isinstance(value, str) and value in self.sources
        ]
        return content_hash(canonical_json([rule, options, used, _code()]))

    def head(self) -> str:
        """Return one digest over every source, every claim in all its words, and the code that computes the figures."""
        leaves: list[Any] = [["source", s.model_dump(mode="json")] for s in self.source]
        leaves += [["claim", c.model_dump(mode="json")] for c in self.claim]
        leaves += [["shared", name, options] for name, options in sorted(self.shared.items())]
        leaves += [["not asked", r.model_dump(mode="json")] for r in self.not_asked]
        leaves += [["code", name, digest] for name, digest in _code()]
        return head_of([canonical_json(leaf) for leaf in leaves])


def read(path: Path | None = None) -> Register:
    """Return a register; left out, the one that is shipped.

    Raises:
        UsageError: it cannot be read, or does not say what a register says.
    """
    name = str(path or SHIPPED)
    try:
        text = path.read_text(encoding="utf-8") if path else (files(__package__) / SHIPPED).read_text(encoding="utf-8")
        return Register.model_validate(tomllib.loads(text))
    except OSError as err:
        raise UsageError(f"`{name}` cannot be read: {err.strerror or err}.", hint="--register FILE") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise UsageError(f"`{name}` is no TOML: {err}.", hint="--register FILE") from err
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"`{name}` is no register: {where}: {first['msg']}.", hint="--register FILE") from err


def _code() -> list[tuple[str, str]]:
    """Return what computes figures, file by file; what reads files cannot change them, as they are held to their hashes."""
    here = Path(str(files(__package__)))
    return [
        (path.relative_to(here).as_posix(), content_hash(path.read_bytes()))
        for path in sorted(here.rglob("*.py"))
        if path.name not in {"__init__.py", "command.py", "page.py", "register.py", "results.py", "trees.py"}
    ]
