"""Where numbers are searched, and for how long."""

from statistics import fmean

import recorded
from recorded import settings


def bounds(parameter):
    """Return where a number is searched: `reach` times its size around its initial value, within its own bounds."""
    size = max(abs(parameter.initial), 1.0) * settings.reach
    low, high = parameter.initial - size, parameter.initial + size
    return (
        low if parameter.minimum is None else max(parameter.minimum, low),
        high if parameter.maximum is None else min(parameter.maximum, high),
    )


def mean_score(values, examples):
    """Return the mean score of values."""
    found = recorded.measure(values, examples)
    return fmean(one.score for one in found)


def trials():
    """Return how many trials the cap leaves room for."""
    cap = recorded.evaluations
    return settings.n_trials if cap is None else max(1, min(settings.n_trials, -(-cap // len(recorded.train))))
