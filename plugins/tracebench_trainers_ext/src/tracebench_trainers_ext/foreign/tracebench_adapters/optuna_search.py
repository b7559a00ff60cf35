"""Optuna over the numbers and choices of a task: a baseline without a language model."""

import optuna

from .leaves import find_leaves, measure, trials
from .task import settings_of

SAMPLERS = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}


def train(task, settings):
    """Search until the trials or the budget end, from the initial values on."""
    settings = settings_of(settings)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    leaves = find_leaves(task, settings.reach)

    def objective(trial):
        return measure(task, {leaf.path: suggest(trial, leaf) for leaf in leaves}, f"optuna:{settings.sampler}")

    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[settings.sampler](seed=task.seed % 2**32))
    study.enqueue_trial({leaf.name: leaf.initial for leaf in leaves})
    study.optimize(objective, n_trials=trials(task, settings.n_trials))
    task.end_step()


def suggest(trial, leaf):
    """Return the trial's value of one leaf."""
    if leaf.choices:
        return leaf.choices[trial.suggest_categorical(leaf.name + "#", range(len(leaf.choices)))]
    if leaf.whole:
        return trial.suggest_int(leaf.name, round(leaf.low), round(leaf.high))
    return trial.suggest_float(leaf.name, leaf.low, leaf.high)
