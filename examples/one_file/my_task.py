"""A task in one file."""

from collections.abc import Mapping, Sequence

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values

NUMBERS: Mapping[Split, Sequence[int]] = {"train": (1, 2, 3), "validation": (4, 5), "test": (6, 7)}


class Line:
    """Find the slope of a line."""

    objective = "Choose `slope` so that slope * x comes near the reference."
    parameters = (Parameter(name="slope", initial=0.0, kind="number", minimum=-10, maximum=10),)
    splits: Mapping[Split, Sequence[Example]] = {
        split: tuple(Example(id=f"{split}-{x}", input=x, reference=3 * x) for x in xs) for split, xs in NUMBERS.items()
    }

    def run(self, values: Values, example: Example, context: Context) -> float:
        """Return the program's output."""
        return float(values["slope"]) * example.input

    def guide(self, example: Example, output: float, context: Context) -> Feedback:
        """Score what was returned: 0 is perfect."""
        off = abs(output - example.reference)
        return Feedback(score=-off, text=f"{output:.3g} where {example.reference} was expected.")


def task() -> Line:
    """Find the slope of a line."""
    return Line()
