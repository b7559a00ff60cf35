"""Nevergrad over numbers and choices, from the initial values on."""

import nevergrad as ng
import recorded
from ranges import bounds, mean_score, trials
from recorded import settings


def axis(parameter):
    if parameter.choices:
        return ng.p.Choice(range(len(parameter.choices)))
    low, high = bounds(parameter)
    return ng.p.Scalar(init=float(parameter.initial), lower=low, upper=high)


def chosen(asked):
    return {
        name: p.choices[int(asked.value[name])] if p.choices else float(asked.value[name])
        for name, p in recorded.parameters.items()
    }


space = ng.p.Dict(**{name: axis(p) for name, p in recorded.parameters.items()})
space.random_state.seed(recorded.seed % 2**32)
kinds = {name.lower(): name for name in ng.optimizers.registry}
count = trials()
kind = ng.optimizers.registry[kinds[settings.optimizer.lower()]]
optimizer = kind(parametrization=space, budget=max(1, count - 1), **settings.library)
mean_score(recorded.initial, recorded.train)
for _ in range(count - 1):
    asked = optimizer.ask()
    optimizer.tell(asked, -mean_score(chosen(asked), recorded.train))
