"""Optuna over numbers and choices, from the initial values on."""

from statistics import fmean

import optuna
import recorded
from ranges import bounds, mean_score, trials
from recorded import settings

SHORT = {"cmaes": "CmaEsSampler", "gp": "GPSampler", "qmc": "QMCSampler", "nsgaii": "NSGAIISampler",
         "sha": "SuccessiveHalvingPruner"}  # fmt: skip


def named(module, kind, name):
    known = {n.lower(): each for n, each in vars(module).items() if n.endswith(kind)}
    asked = SHORT.get(name.lower(), name).lower()
    return known.get(asked) or known[asked + kind.lower()]


def chosen(trial):
    return {
        name: p.choices[trial.suggest_categorical(name + "#", range(len(p.choices)))]
        if p.choices
        else trial.suggest_float(name, *bounds(p))
        for name, p in recorded.parameters.items()
    }


def first(name, value):
    choices = recorded.parameters[name].choices
    return (name + "#", choices.index(value)) if choices else (name, value)


def objective(trial):
    values = chosen(trial)
    if settings.pruner is None:
        return mean_score(values, recorded.train)
    scores = []
    for example in recorded.train:
        scores.append(mean_score(values, [example]))
        trial.report(fmean(scores), len(scores))
        if trial.should_prune():
            raise optuna.TrialPruned
    return fmean(scores)


optuna.logging.set_verbosity(optuna.logging.WARNING)
kind = named(optuna.samplers, "Sampler", settings.sampler)
seeded = (
    {}
    if kind in {optuna.samplers.GridSampler, optuna.samplers.PartialFixedSampler}
    else {"seed": recorded.seed % 2**32}
)
pruner = None if settings.pruner is None else named(optuna.pruners, "Pruner", settings.pruner)()
study = optuna.create_study(direction="maximize", sampler=kind(**{**seeded, **settings.library}), pruner=pruner)
study.enqueue_trial(dict(first(name, value) for name, value in recorded.initial.items()))
study.optimize(objective, n_trials=trials())
