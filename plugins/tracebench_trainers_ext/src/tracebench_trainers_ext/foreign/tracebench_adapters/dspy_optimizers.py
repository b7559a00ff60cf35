"""DSPy's optimizers over the job's task, each as the library offers it."""

import logging
from contextlib import contextmanager

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from . import knobs
from .dspy_carrier import GatewayLM, Program
from .gepa_common import Lineage, planned_calls
from .model import ModelGone
from .task import TaskRefused, settings_of

DEMOS = ("max_bootstrapped_demos", "max_labeled_demos")
MINIBATCH = 35
"""The library's own size of a minibatch, which it refuses on fewer examples."""
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


HELD = (
    "metric", "prompt_model", "task_model", "reflection_lm", "teacher", "student", "trainset", "valset", "eval_kwargs", "num_threads",
    "max_errors", "seed", "log_dir", "gepa_kwargs", "use_wandb", "use_mlflow", "teacher_settings", "requires_permission_to_run",
    "provide_traceback", "failure_score", "max_metric_calls", "max_full_evals", "auto", "instruction_proposer", "code_proposer",
)  # fmt: skip
"""Arguments of the optimizers that the bench holds."""


def compiled(optimizer, program, given, *, made, compiling):
    """Make an optimizer and return the program as it leaves it; `given` settings go to whichever of the two takes them."""
    of_making, of_compiling = knobs.parted(given, optimizer, optimizer.compile, held=HELD)
    return optimizer(**{**made, **of_making}).compile(program.carrier, **{**compiling, **of_compiling})


def copro(task, settings):
    """COPRO: coordinate ascent over instructions; it reads scores alone."""
    with opened(task, settings, origin="dspy:copro", scale=settings["score_scale"]) as (s, program, lm):
        made = {
            "prompt_model": lm,
            "metric": program.score,
            "breadth": s.breadth,
            "depth": s.depth,
            "init_temperature": s.init_temperature,
        }
        compiling = {"trainset": program.examples(task.train), "eval_kwargs": ONE_THREAD}
        finish(task, program, compiled(dspy.COPRO, program, s.library, made=made, compiling=compiling))


def miprov2(task, settings):
    """MIPROv2: proposes instructions first, then searches their combinations by Bayesian optimisation; it reads scores alone.

    With `max_bootstrapped_demos` or `max_labeled_demos` it searches demonstrations, too, which stand below a text in words.
    """
    given = settings["library"]
    demos = any(given.get(name) for name in DEMOS)
    if demos and not any(getattr(e, "reference", None) for e in task.train):
        raise TaskRefused(
            "demonstrations are examples with their references, and this task's training examples have none"
        )
    with opened(task, settings, origin="dspy:miprov2", scale=settings["score_scale"], demos=demos) as (s, program, lm):
        made = {
            "metric": program.score,
            "prompt_model": lm,
            "task_model": lm,
            "auto": None,
            "num_candidates": s.num_candidates,
            "max_bootstrapped_demos": 0,
            "max_labeled_demos": 0,
            "init_temperature": s.init_temperature,
            "num_threads": 1,
            "seed": task.seed,
        }
        compiling = {
            "trainset": program.examples(task.train),
            "valset": program.examples(task.validation),
            "num_trials": s.num_trials or trials(task),
            "minibatch": False,
            "program_aware_proposer": s.program_aware_proposer,
            "data_aware_proposer": s.data_aware_proposer,
            "tip_aware_proposer": s.tip_aware_proposer,
            "fewshot_aware_proposer": False,
        }
        if "minibatch_size" not in given:
            compiling["minibatch_size"] = min(MINIBATCH, len(task.validation))
        finish(task, program, compiled(dspy.MIPROv2, program, given, made=made, compiling=compiling))


def trials(task):
    """Return how many full evaluations the budget leaves room for, from 1 to 30; 10 where it caps none."""
    remaining = task.remaining()
    return 10 if remaining is None else max(1, min(30, int(remaining) // len(task.validation) - 1))


def simba(task, settings):
    """SIMBA: rules from the contrast between good and bad rollouts of one example."""
    with opened(task, settings, origin="dspy:simba", kinds=("text",)) as (s, program, lm):
        made = {
            "metric": program.feedback_of_simba,
            "bsize": min(s.bsize, len(task.train)),
            "num_candidates": s.num_candidates,
            "max_steps": s.max_steps,
            "max_demos": 0,
            "prompt_model": lm,
            "num_threads": 1,
            "temperature_for_sampling": s.temperature_for_sampling,
            "temperature_for_candidates": s.temperature_for_candidates,
        }
        compiling = {"trainset": program.examples(task.train), "seed": task.seed}
        if s.library.get("max_demos"):
            raise knobs.WrongKnob(
                "`library.max_demos` is the bench's own: SIMBA's demonstrations are traces, which no text holds."
            )
        finish(task, program, compiled(dspy.SIMBA, program, s.library, made=made, compiling=compiling))


def gepa(task, settings):
    """DSPy's own entrance to GEPA: reflection on the guide's words."""
    with opened(task, settings, origin="dspy:gepa") as (s, program, lm):
        made = {
            "metric": program.feedback,
            "max_metric_calls": planned_calls(task, s),
            "reflection_lm": lm,
            "reflection_minibatch_size": min(s.reflection_minibatch_size, len(task.train)),
            "candidate_selection_strategy": s.candidate_selection_strategy,
            "skip_perfect_score": s.perfect_score is not None,
            "perfect_score": 1.0 if s.perfect_score is None else s.perfect_score,
            "failure_score": task.floor,
            "use_merge": s.use_merge,
            "num_threads": 1,
            "seed": task.seed,
            "warn_on_score_mismatch": False,
            "gepa_kwargs": {"callbacks": [Lineage(task, program.named, "dspy:gepa")]},
        }
        compiling = {"trainset": program.examples(task.train), "valset": program.examples(task.validation)}
        finish(task, program, compiled(dspy.GEPA, program, s.library, made=made, compiling=compiling))
