"""`gepa.optimize_anything`: the library's second entrance, where the score's words travel as side information."""

import gepa.optimize_anything as anything

from . import gepa_common as common
from . import knobs
from .model import Model
from .task import mean, settings_of

ALONE = "current_candidate"
"""The library's own name for a candidate that is a single text."""
OF_ONE = "_specific_info"
"""Ends a key of the library's side information that is shown with one parameter alone."""


def role(task, name):
    """Return which parameter it is, for a prompt that shows one of several."""
    said, named = task.describe(name), f"the parameter `{name}` of kind {task.parameters[name].kind}"
    return said if said.startswith(named) else f"{named}: {said}"


def train(task, settings):
    """Run it until its plan or the budget ends."""
    settings = settings_of(settings)
    model = Model(task.endpoint(), temperature=settings.temperature, max_tokens=settings.max_tokens)
    single = next(iter(task.initial)) if len(task.initial) == 1 else None

    def read(candidate):
        if isinstance(candidate, str):
            return {single: candidate}
        names = {ALONE: single} if single is not None else {name: name for name in task.initial}
        return {names[name]: text for name, text in candidate.items() if name in names}

    alone = settings.mode == "single-task"
    # Where there are several, the library's prompt tells which one it shows by this alone.
    which = {f"{name}{OF_ONE}": {"Component": role(task, name)} for name in task.initial} if single is None else {}

    def evaluator(candidate, example=None):
        found = task.measure(read(candidate), task.train if alone else [example], origin="gepa")
        records = [common.record(task, one.example, one.score, one.feedback) for one in found]
        return mean([one.score for one in found]), (records[0] if len(records) == 1 else {"Examples": records}) | which

    reflector = common.Reflector(model)
    refiner = (
        anything.RefinerConfig(refiner_lm=reflector, max_refinements=settings.max_refinements)
        if settings.max_refinements
        else None
    )
    config = anything.GEPAConfig(
        engine=anything.EngineConfig(
            seed=task.seed,
            max_metric_calls=max(1, common.planned_calls(task, settings) // (len(task.train) if alone else 1)),
            candidate_selection_strategy=settings.candidate_selection_strategy,
            acceptance_criterion=settings.acceptance_criterion,
            parallel=False,
            cache_evaluation=False,
            track_best_outputs=False,
        ),
        reflection=anything.ReflectionConfig(
            reflection_lm=reflector,
            reflection_minibatch_size=min(settings.reflection_minibatch_size, len(task.train)),
            skip_perfect_score=settings.perfect_score is not None,
            perfect_score=settings.perfect_score,
            module_selector=settings.module_selector,
        ),
        tracking=anything.TrackingConfig(logger=common.Quiet()),
        refiner=refiner,
        callbacks=[common.Lineage(task, read)],
    )
    reflection = settings.library.get("reflection")
    templated = isinstance(reflection, dict) and reflection.get("reflection_prompt_template") is not None
    held = {f"{part}{name}" for part in ("", "engine.", "reflection.", "refiner.") for name in common.HELD}
    anything.optimize_anything(
        seed_candidate=task.initial[single] if single else task.initial,
        evaluator=evaluator,
        dataset=None if alone else task.train,
        valset=task.validation if settings.mode == "generalization" else None,
        objective=None if templated else task.objective,  # the library takes one of the two
        background=settings.background,
        config=knobs.lay(config, settings.library, held=held),
    )
    task.end_step()
