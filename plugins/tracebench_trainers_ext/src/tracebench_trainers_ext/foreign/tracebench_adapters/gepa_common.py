"""What both entrances of gepa share: the plan, the model, the lineage, and a log that goes to the job."""

from pathlib import Path

from .task import shown

HELD = (
    "seed_candidate", "trainset", "valset", "adapter", "task_lm", "evaluator", "reflection_lm", "reflection_lm_kwargs", "callbacks",
    "stop_callbacks", "logger", "run_dir", "seed", "max_metric_calls", "cache_evaluation", "cache_evaluation_storage", "parallel",
    "max_workers", "use_wandb", "use_mlflow", "custom_candidate_proposer", "refiner_lm", "tracking",
)  # fmt: skip
"""Names of gepa's settings that the bench holds, wherever they stand."""
FALLBACK_CALLS = 300
"""Evaluations that gepa plans with where nothing caps them: it demands a number."""
CODE = Path(__file__).with_name("gepa_code.txt").read_text()
"""What gepa asks for a better value of code: its own template is for instructions in words."""


def planned_calls(task, settings):
    """Return how many evaluations gepa is to plan with."""
    remaining = task.remaining()
    wanted = settings.max_metric_calls or FALLBACK_CALLS
    if remaining is None:
        return wanted
    return max(1, min(remaining, settings.max_metric_calls or remaining))


def record(task, example_id, score, feedback):
    """Return one example of the reflective data set: our feedback, as the guide wrote it."""
    return {"Inputs": shown(task.inputs[example_id]), "Feedback": feedback, "Score": f"{score:g}"}


def templates(task):
    """Return a reflection prompt for each parameter that is no instruction in words; gepa's own suits those."""
    return {
        name: CODE.format(objective=escaped(task.objective), role=escaped(task.describe(name)))
        for name, parameter in task.parameters.items()
        if parameter.kind != "text"
    }


def escaped(text):
    """Return a text in which gepa finds none of its placeholders."""
    return text.replace("<curr_param>", "curr_param").replace("<side_info>", "side_info")


class Reflector:
    """The reflection model, as gepa calls one: a prompt in, a text out."""

    def __init__(self, model):
        self._model = model

    def __call__(self, prompt):
        return self._model.ask(prompt)[0]


class Quiet:
    """gepa's logger: prints to the job's own log."""

    def log(self, message):
        """Print one message."""
        print(message, flush=True)


class Lineage:
    """Callbacks that mark steps, and tell the task which candidate was made from which."""

    def __init__(self, task, read=dict, origin="gepa"):
        """`read` turns what gepa holds for a candidate into the task's texts."""
        self._task = task
        self._origin = origin
        self._read = read
        self._programs = [task.initial]
        self._parent = task.initial

    def on_iteration_start(self, event):
        """Begin a step."""
        self._task.begin_step()

    def on_iteration_end(self, event):
        """End it."""
        self._task.end_step()

    def on_proposal_start(self, event):
        """Remember what is reflected upon."""
        self._parent = self._read(event["parent_candidate"])

    def on_proposal_end(self, event):
        """Tell of the child before it is measured."""
        self._task.descend(
            self._parent | self._read(event["new_instructions"]), [self._parent], f"{self._origin}:reflection"
        )

    def on_valset_evaluated(self, event):
        """Remember what was accepted, by gepa's own index."""
        index = event["candidate_idx"]
        self._programs += [None] * (index + 1 - len(self._programs))
        self._programs[index] = self._read(event["candidate"])

    def on_candidate_accepted(self, event):
        """Record gepa's verdict."""
        self._decide(event, "accepted")

    def _decide(self, event, verdict):
        index = event["new_candidate_idx"]
        if index < len(self._programs) and self._programs[index] is not None:
            self._task.decide(self._programs[index], verdict)
