"""A calibration: a case whose outcome is known before it is measured, by which a task shows that it measures rightly here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, FiniteFloat, JsonValue, model_validator

from tracebench_core.specs.base import Ref, Spec, Split, Values

CalibrationKind = Literal["gold", "known", "anchor", "order", "ratio", "same", "form", "forged", "refused"]


class Calibration(Spec):
    """One case and what must come of it. It is measured as any candidate is; nothing is computed beside the task.

    | kind | what must come out |
    |---|---|
    | `gold` | every example scores `expected`, the best there is |
    | `known` | the case scores `expected` |
    | `anchor` | every example is scored; how high is not known beforehand, and other cases are compared with it |
    | `order` | the case scores higher than `other` |
    | `ratio` | the case scores `factor` times what `other` scores |
    | `same` | the case scores what `other` scores |
    | `form` | every example scores `expected`, or without it what it scores in `other`, whatever the form |
    | `forged` | no example scores more than `expected`, or without it than in `other`, or without both than in the best honest case: any
    that is neither `forged` nor `refused`, or the initial candidate |
    | `refused` | no example is `ok`, and the words of each hold `words` |

    Figures are equal within `abs_tol + rel_tol * abs(expected)`, as `math.isclose` would have it with the expected figure as its base; and
    where the measurements tell a noise of their own, within that beside it.
    A score is that of a batch as the task aggregates it, unless the table says "every example".
    """

    name: str = Field(min_length=1)
    """Unique among the task's cases."""
    kind: CalibrationKind
    values: Values | Ref = {}
    """The candidate: values by parameter, those left out keep their initial one; or where they are to be had, a mapping or a function
    without arguments that returns one."""
    options: dict[str, JsonValue] = {}
    """Settings of the task in this case, over those that it is calibrated with."""
    split: Split = "train"
    examples: tuple[str, ...] = ()
    """Ids of the examples it is measured on; all of the split when empty."""
    replies: Mapping[str, str | tuple[str, ...]] = {}
    """What a model says in this case, by example id, whatever it is asked; several in turn, the last of them again and again. `""` stands
    for every example that is not named. Without it a case of a task that asks a model needs a model."""
    expected: FiniteFloat | dict[str, FiniteFloat] | None = None
    """The figure that must come out; or one for each example, by its id, and then every example is looked at."""
    other: str = ""
    """The name of the case that this one is compared with."""
    factor: FiniteFloat | None = Field(default=None, gt=0)
    abs_tol: FiniteFloat = Field(default=0.0, ge=0)
    rel_tol: FiniteFloat = Field(default=0.0, ge=0)
    metric: str = ""
    """The metric that is looked at in place of the score."""
    noise: str = ""
    """The metric by which a measurement tells its own noise, as a share of its figure. What it and the one that it is compared with tell
    is put together (the root of the sum of squares); where that is more than twice `rel_tol`, the machine is too noisy to say anything."""
    repeats: int = Field(default=1, ge=1)
    """How many times it is measured. The median counts; where half of the range is more than the tolerance, the machine is too noisy to
    say anything, and the case is not passed."""
    words: str = ""
    """A part of the feedback that a refused case is told."""
    source: str = ""
    """Where the expected figure comes from: a publication, a certificate, by construction."""

    @model_validator(mode="after")
    def _says_what_must_come_out(self) -> Calibration:
        wants: dict[str, tuple[str, ...]] = {
            "gold": ("expected",), "known": ("expected",), "order": ("other",), "ratio": ("other", "factor"), "same": ("other",),
        }  # fmt: skip
        lacking = [name for name in wants.get(self.kind, ()) if getattr(self, name) in (None, "")]
        if self.kind == "form" and self.expected is None and not self.other:
            lacking = ["expected` or `other"]
        if lacking:
            raise ValueError(f"case `{self.name}` of kind `{self.kind}` needs `{lacking[0]}`")
        if self.kind == "anchor" and (self.expected is not None or self.other):
            given = "other" if self.other else "expected"
            raise ValueError(f"case `{self.name}`: an `anchor` is what others are compared with and has no `{given}`")
        if self.factor is not None and self.kind != "ratio":
            raise ValueError(f"case `{self.name}`: `factor` belongs to kind `ratio`")
        if self.other == self.name:
            raise ValueError(f"case `{self.name}` is compared with itself; `same` takes two cases of the same values")
        return self


class CaseVerdict(Spec):
    """What came of a calibration. Nothing but `passed` says that the task measures rightly."""

    case: str
    kind: CalibrationKind
    result: Literal["passed", "failed", "noisy", "skipped"]
    """`noisy`: the machine's noise hides what must come out; `skipped`: it cannot be measured here."""
    expected: str
    """In words, with figures; so is the next."""
    seen: str
    why: str = ""
    """Of what did not pass."""


class Bounds(Spec):
    """The least and the greatest that a figure can be; None where there is no bound."""

    minimum: float | None = Field(default=None, allow_inf_nan=False)
    maximum: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _in_order(self) -> Bounds:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"`minimum` {self.minimum:g} is above `maximum` {self.maximum:g}")
        return self

    def hold(self, figure: float) -> bool:
        """Tell whether a figure is possible; one that is no number is not."""
        low, high = self.minimum, self.maximum
        return figure == figure and (low is None or figure >= low) and (high is None or figure <= high)  # noqa: PLR0124 - NaN

    def __str__(self) -> str:
        low = "-∞" if self.minimum is None else f"{self.minimum:g}"
        return f"{low} to {'∞' if self.maximum is None else f'{self.maximum:g}'}"
