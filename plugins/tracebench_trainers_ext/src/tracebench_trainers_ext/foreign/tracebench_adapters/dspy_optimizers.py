"""DSPy's optimizers over the job's task, each as the library offers it."""

import logging
from contextlib import contextmanager

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from .dspy_carrier import GatewayLM, Program
from .gepa_common import Lineage, planned_calls
from .model import ModelGone
from .task import settings_of

BEST_FEW = 2
"""Scored programs that are measured on the comparison examples beside the one that was chosen."""
ONE_THREAD = {"num_threads": 1, "display_progress": False}
"""With more, DSPy runs an evaluation of two minutes twice; the engine evaluates in parallel where the run allows it."""


@contextmanager
def opened(task, settings, **program):
    """Yield settings, program and model, with DSPy set up for them."""
    logging.getLogger("dspy").setLevel(logging.WARNING)
    settings = settings_of(settings)
    lm = GatewayLM(task, temperature=settings.temperature, max_tokens=settings.max_tokens)
    try:
        with dspy.context(lm=lm, num_threads=1, max_errors=10**6):
            yield settings, Program(task, **program), lm
    except AdapterParseError as error:  # some of the optimizers end at the first answer that is not in DSPy's form
        print(f"The optimizer gave up at an answer that it cannot read: {error}", flush=True)
        task.problem.log("unreadable_answer", 1.0)
    except LMError as error:  # some end at the first call that failed; the gateway has tried it several times
        raise ModelGone(str(error)) from error
    task.end_step()


def finish(task, program, module):
    """Measure on the comparison examples what the optimizer chose, and the next few of the programs that it had scored."""
    chosen = [program.texts(module)]
    scored = sorted(getattr(module, "candidate_programs", ()), key=lambda one: -one["score"])
    for texts in (program.texts(one["program"]) for one in scored):
        if texts not in chosen and len(chosen) <= BEST_FEW:
            chosen.append(texts)
    for texts in chosen:
        task.measure(texts, task.validation, origin=program.origin)


def copro(task, settings):
    """COPRO: coordinate ascent over instructions; it reads scores alone."""
    with opened(task, settings, origin="dspy:copro", scale=settings["score_scale"]) as (s, program, lm):
        optimizer = dspy.COPRO(
            prompt_model=lm,
            metric=program.score,
            breadth=s.breadth,
            depth=s.depth,
            init_temperature=s.init_temperature,
        )
        best = optimizer.compile(program.carrier, trainset=program.examples(task.train), eval_kwargs=ONE_THREAD)
        finish(task, program, best)


def miprov2(task, settings):
    """MIPROv2: proposes instructions first, then searches their combinations by Bayesian optimisation; it reads scores alone."""
    with opened(task, settings, origin="dspy:miprov2", scale=settings["score_scale"]) as (s, program, lm):
        optimizer = dspy.MIPROv2(
            metric=program.score,
            prompt_model=lm,
            task_model=lm,
            auto=None,
            num_candidates=s.num_candidates,
            max_bootstrapped_demos=0,
            max_labeled_demos=0,
            init_temperature=s.init_temperature,
            num_threads=1,
            seed=task.seed,
        )
        best = optimizer.compile(
            program.carrier,
            trainset=program.examples(task.train),
            valset=program.examples(task.validation),
            num_trials=s.num_trials or trials(task),
            minibatch=False,
            program_aware_proposer=s.program_aware_proposer,
            data_aware_proposer=s.data_aware_proposer,
            tip_aware_proposer=s.tip_aware_proposer,
            fewshot_aware_proposer=False,
        )
        finish(task, program, best)


def trials(task):
    """Return how many full evaluations the budget leaves room for, from 1 to 30; 10 where it caps none."""
    remaining = task.remaining()
    return 10 if remaining is None else max(1, min(30, int(remaining) // len(task.validation) - 1))


def simba(task, settings):
    """SIMBA: rules from the contrast between good and bad rollouts of one example."""
    with opened(task, settings, origin="dspy:simba", kinds=("text",)) as (s, program, lm):
        optimizer = dspy.SIMBA(
            metric=program.feedback_of_simba,
            bsize=min(s.bsize, len(task.train)),
            num_candidates=s.num_candidates,
            max_steps=s.max_steps,
            max_demos=0,
            prompt_model=lm,
            num_threads=1,
            temperature_for_sampling=s.temperature_for_sampling,
            temperature_for_candidates=s.temperature_for_candidates,
        )
        best = optimizer.compile(program.carrier, trainset=program.examples(task.train), seed=task.seed)
        finish(task, program, best)


def gepa(task, settings):
    """DSPy's own entrance to GEPA: reflection on the guide's words."""
    with opened(task, settings, origin="dspy:gepa") as (s, program, lm):
        optimizer = dspy.GEPA(
            metric=program.feedback,
            max_metric_calls=planned_calls(task, s),
            reflection_lm=lm,
            reflection_minibatch_size=min(s.reflection_minibatch_size, len(task.train)),
            candidate_selection_strategy=s.candidate_selection_strategy,
            skip_perfect_score=s.perfect_score is not None,
            perfect_score=1.0 if s.perfect_score is None else s.perfect_score,
            failure_score=task.floor,
            use_merge=s.use_merge,
            num_threads=1,
            seed=task.seed,
            warn_on_score_mismatch=False,
            gepa_kwargs={"callbacks": [Lineage(task, program.named, "dspy:gepa")]},
        )
        best = optimizer.compile(
            program.carrier, trainset=program.examples(task.train), valset=program.examples(task.validation)
        )
        finish(task, program, best)
