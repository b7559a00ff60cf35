"""The numbers and choices inside a task's values, as a flat list that a numeric optimizer can search."""

from typing import NamedTuple


class Leaf(NamedTuple):
    """One number or choice: where it stands, and what it may be."""

    path: tuple
    initial: object
    low: float
    high: float
    choices: tuple
    whole: bool

    @property
    def name(self):
        """The path as a text."""
        return ".".join(map(str, self.path))

    @property
    def first(self):
        """The name and the value by which Optuna is told of the initial value: of a choice its place, as choices are of any type."""
        return (f"{self.name}#", self.choices.index(self.initial)) if self.choices else (self.name, self.initial)


def find_leaves(task, reach):
    """Return the leaves of all parameters; a number without bounds is searched within `reach` times its size around its initial value."""
    found = []
    for name, parameter in task.parameters.items():
        value = task.problem.initial[name]
        if parameter.kind == "choice":
            found.append(Leaf((name,), value, 0.0, 0.0, tuple(parameter.choices), False))
        elif parameter.kind in {"number", "json"}:
            found += walk((name,), value, parameter, reach)
    return found


def walk(path, value, parameter, reach):
    """Yield the numbers inside a value."""
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in walk((*path, k), v, parameter, reach)]
    if isinstance(value, list):
        return [leaf for i, v in enumerate(value) for leaf in walk((*path, i), v, parameter, reach)]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    size = max(abs(value), 1.0) * reach
    low = value - size if parameter.minimum is None else max(parameter.minimum, value - size)
    high = value + size if parameter.maximum is None else min(parameter.maximum, value + size)
    whole = isinstance(value, int) and parameter.kind == "json"
    return [Leaf(path, value, low, high, (), whole)]


def fill(initial, chosen):
    """Return values with the chosen leaves in place; `chosen` maps paths to values."""
    return {name: put((name,), value, chosen) for name, value in initial.items()}


def put(path, value, chosen):
    """Return one value with its leaves replaced."""
    if path in chosen:
        return chosen[path]
    if isinstance(value, dict):
        return {k: put((*path, k), v, chosen) for k, v in value.items()}
    if isinstance(value, list):
        return [put((*path, i), v, chosen) for i, v in enumerate(value)]
    return value


def measure(task, chosen, origin, examples=None):
    """Return the mean score of the task with the chosen leaves, on all of train where no examples are given."""
    from .task import mean

    task.propose()
    texts = task.to_texts(fill(task.problem.initial, chosen))
    return mean([m.score for m in task.measure(texts, examples, origin=origin)])


def trials(task, wanted):
    """Return how many trials the budget leaves room for, each on all of train."""
    remaining = task.remaining()
    return wanted if remaining is None else max(1, min(wanted, -(-int(remaining) // len(task.train))))
