"""Optuna over the numbers and choices of a task: a baseline without a language model."""

import optuna

from . import knobs
from .leaves import find_leaves, measure, trials
from .task import mean, settings_of

SHORT = {
    "cmaes": "CmaEsSampler",
    "gp": "GPSampler",
    "qmc": "QMCSampler",
    "nsgaii": "NSGAIISampler",
    "sha": "SuccessiveHalvingPruner",
}
HELD = ("seed", "independent_sampler", "search_space", "base_sampler")


def train(task, settings):
    """Search until the trials or the budget end, from the initial values on."""
    settings = settings_of(settings)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    leaves = find_leaves(task, settings.reach)

    sampler = classes(optuna.samplers, "Sampler", settings.sampler)
    seeded = {"seed": task.seed % 2**32} if "seed" in knobs.names_of(sampler) else {}
    try:
        sampler = knobs.call(sampler, seeded, settings.library, held=HELD)
    except ImportError as error:
        raise knobs.WrongKnob(f"`{settings.sampler}` needs a package more: {error}") from error
    pruner = None if settings.pruner is None else classes(optuna.pruners, "Pruner", settings.pruner)()

    def objective(trial):
        chosen = {leaf.path: suggest(trial, leaf) for leaf in leaves}
        if pruner is None:
            return measure(task, chosen, f"optuna:{settings.sampler}")
        scores = []
        for example in task.train:
            scores.append(measure(task, chosen, f"optuna:{settings.sampler}", [example]))
            trial.report(mean(scores), len(scores))
            if trial.should_prune():
                raise optuna.TrialPruned
        return mean(scores)

    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.enqueue_trial(dict(leaf.first for leaf in leaves))
    study.optimize(objective, n_trials=trials(task, settings.n_trials))
    task.end_step()


def classes(module, kind, name):
    """Return the sampler or the pruner of a name; its class's, or that without the last word."""
    found = {
        n: c for n, c in vars(module).items() if n.endswith(kind) and n not in {f"Base{kind}", "PartialFixedSampler"}
    }
    found |= {n.removesuffix(kind): c for n, c in found.items()}
    return knobs.named(SHORT.get(name.lower(), name), found, what=f"{kind.lower()} of Optuna")


def suggest(trial, leaf):
    """Return the trial's value of one leaf."""
    if leaf.choices:
        return leaf.choices[trial.suggest_categorical(leaf.first[0], range(len(leaf.choices)))]
    if leaf.whole:
        return trial.suggest_int(leaf.name, round(leaf.low), round(leaf.high))
    return trial.suggest_float(leaf.name, leaf.low, leaf.high)
