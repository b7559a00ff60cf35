"""A task as one file and an evaluator file, for libraries that evolve files in whatever process they like."""

from pathlib import Path

import tracebench_client

from .task import Task, mean
from .texts import join, only_file, split

EVALUATOR = '''"""Evaluates a program file at the job's door."""

from tracebench_adapters.files import evaluate_file


def evaluate(program_path):
    return evaluate_file(program_path, {kind!r})
'''
_TASKS = {}


def write_task(task, kind):
    """Write the initial program and the evaluator into this folder; return their paths."""
    program, evaluator = Path(f"initial{suffix(task)}").absolute(), Path("evaluator.py").absolute()
    program.write_text(join(task.initial))
    evaluator.write_text(EVALUATOR.format(kind=kind))
    return str(program), str(evaluator)


def suffix(task):
    """Return the file's suffix: Python for one piece of code or one such file, text for all else."""
    return ".py" if language(task) == "python" else ".txt"


def language(task):
    """Return the language that the libraries are told."""
    parameters = list(task.parameters.values())
    alone = len(parameters) == 1 and (parameters[0].kind == "code" or (only_file(parameters[0]) or "").endswith(".py"))
    return "python" if alone else "text"


def instructions(task):
    """Return what the file is, for a prompt."""
    parts = [f"{task.objective}\n\nThe higher the score, the better."]
    if len(task.initial) > 1:
        names = "\n".join(f"- {name}: {task.describe(name)}" for name in task.initial)
        parts.append(
            f"The file holds these parameters, each below a line `### PARAMETER name`; keep those lines as they are:\n{names}"
        )
    else:
        parts.append(f"The file is {task.describe(next(iter(task.initial)))}.")
    return "\n\n".join(parts)


def read(task, text):
    """Return the texts of a file."""
    return split(text, task.initial)


def evaluate_file(path, kind):
    """Measure a program file on all of train, from any process, and return it in the library's own shape."""
    task = open_task()
    texts = read(task, Path(path).read_text())
    found = task.measure(texts, origin=kind)
    score = mean([m.score for m in found])
    words = "\n".join(dict.fromkeys(m.feedback for m in found))
    metrics = {"combined_score": score, **shared_metrics(found)}
    if kind == "openevolve":
        from openevolve.evaluation_result import EvaluationResult

        return EvaluationResult(metrics=metrics, artifacts={"feedback": words})
    return {**metrics, "artifacts": {"feedback": words}} if kind == "skydiscover" else (metrics, words)


def shared_metrics(found):
    """Return the means of the metrics that every example has; the score's own name is left to the score."""
    names = set.intersection(*(set(m.metrics) for m in found)) - {"combined_score", "error"}
    return {name: mean([m.metrics[name] for m in found]) for name in sorted(names)}


def open_task():
    """Return this process's task, connected at first use."""
    if "task" not in _TASKS:
        _TASKS["task"] = Task(tracebench_client.connect())
    return _TASKS["task"]


def share(task):
    """Have evaluations of this process go through a task that is open already, and those of forked ones too."""
    _TASKS["task"] = task


def planned_iterations(task, wanted):
    """Return how many programs an evolution is to plan with: one evaluation of train each, the first for the initial one."""
    remaining = task.remaining()
    if remaining is None:
        return wanted
    return max(1, min(wanted, -(-int(remaining) // len(task.train))))
