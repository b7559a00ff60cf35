"""Nevergrad over the numbers and choices of a task: a baseline without a language model."""

import nevergrad as ng
from nevergrad.optimization import metamodel

from . import knobs
from .leaves import find_leaves, measure, trials
from .task import settings_of

metamodel.float = lambda predicted: predicted.item()
"""The meta-models (`NGOpt` has one on a single number) call `float` on an array of one prediction, which NumPy refuses from 2.4 on."""


def train(task, settings):
    """Search until the budget that it is given ends, from the initial values on."""
    settings = settings_of(settings)
    leaves = find_leaves(task, settings.reach)
    space = ng.p.Dict(**{leaf.name: axis(leaf) for leaf in leaves})
    space.random_state.seed(task.seed % 2**32)
    count = trials(task, settings.n_trials)
    origin = f"nevergrad:{settings.optimizer}"
    kind = knobs.named(settings.optimizer, ng.optimizers.registry, what="optimizer of Nevergrad")
    passed = {"parametrization": space, "budget": max(1, count - 1)}
    optimizer = knobs.call(kind, passed, settings.library, held=(*passed, "num_workers"))
    measure(task, {leaf.path: leaf.initial for leaf in leaves}, origin)
    for _ in range(count - 1):
        asked = optimizer.ask()
        chosen = {leaf.path: value(asked.value[leaf.name], leaf) for leaf in leaves}
        optimizer.tell(asked, -measure(task, chosen, origin))
    task.end_step()


def axis(leaf):
    """Return Nevergrad's parameter for a leaf."""
    if leaf.choices:
        return ng.p.Choice(range(len(leaf.choices)))
    scalar = ng.p.Scalar(init=float(leaf.initial), lower=leaf.low, upper=leaf.high)
    return scalar.set_integer_casting() if leaf.whole else scalar


def value(found, leaf):
    """Return a leaf's value from what Nevergrad holds for it."""
    if leaf.choices:
        return leaf.choices[int(found)]
    return int(found) if leaf.whole else float(found)
