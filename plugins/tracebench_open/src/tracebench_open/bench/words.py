"""What a page says in words: of its size, its parts, and of what it does not show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_open.bench.plan import FIELD_MODEL, LADDER_MODEL, PRICE, REFERENCE, SIZES, tasks_of, who
from tracebench_open.registration import Registration
from tracebench_open.rungs import ladder


def words_of(part: dict[str, Any]) -> list[str]:
    """Return what a part is, in sentences that follow from its config."""
    caps = ", ".join(f"{cap:g} {axis.replace('_', ' ')}" for axis, cap in part["budget"].items())
    config, tasks = part["config"], part["config"]["tasks"]
    drawn = [{k: v for k, v in t["eval_kwargs"].items() if k != "instance"} for t in tasks]
    options = sorted({json.dumps(one, sort_keys=True) for one in drawn})
    what = (
        f"Each of {len(tasks)} fields is drawn anew from the release's secret; scores are of 200 held-out examples without noise, 0 to 1"
        if part["one_scale"]
        else f"Tasks of {_suites(tasks)}: {len(tasks)}, with {len(config['seeds'])} seeds each; scores are the tasks' own, more is better"
    )
    return [
        f"Each job may use {caps}. The model is `{config['llm']['model']}`. {what}.",
        "",
        f"Options: `{'`, `'.join(options)}`.",
    ]


HEAD = """\
# The open bench

Results that you can check and add to: optimizers under the same caps, with intervals, on fields that nobody could tune to and on real tasks.

**This is size `{size}`**, made by `just open-bench {size} RELEASE`. It is small: where it says *not resolved*, more draws may tell two apart, and
a larger size is the same command with another word. Nothing here says how good an optimizer is with a language model.

* **Model**: scripts of stated quality. `fields/{field}` improves a field's candidate in 35 of 100 answers, harms it in 45 and is of no use in 5.
  `ladders/{ladder}` moves one of six dials of a real program up by a rung in 20 and down in 45; the rungs are programs that the
  task's own calibrations order. They read the candidate and nothing else, so the tables compare what optimizers choose and keep, and say
  nothing of prompts. A script is told which job asks, since many optimizers' prompts do not say what the task is. To a request for feedback,
  observations or ideas, and not for a new value, it says nothing of use: what a language model's diagnosis would be worth to TextGrad,
  AdalFlow or MIPROv2 is not measured, only that it costs calls.
* **Price**: {prompt:g} and {completion:g} USD per million prompt and completion tokens, by which equal USD is counted.
* **Optimizers**: {there}, each at its defaults. Not installed where this was made, and so not measured: {away}. Coding agents are not measured.
* **Promised**: {jobs} jobs were registered before the first call. What of it was not run is told at the end; no part is shown that is not whole.
* **Reference**: differences are from `{reference}`, which makes independent proposals from the start. A row with a missing score is not ranked;
  it stands below the others, with a mean where it has all scores of a column. Some optimizers say of a task that it is not for them.
* **±** is half of a 95 % interval of Student, over draws of a family or over seeds of a task.
"""  # noqa: E501 - a line of the page is a paragraph


SUITES_HEAD = """\
# The open bench: suites

Optimizers under the same caps on real tasks of {suites}, with intervals and receipts. [The open bench](open-bench.md) has fields, too.

**This is size `{size}`**, made by `just open-bench {size}`. It is small: where it says *not resolved*, more seeds may tell two apart.
Nothing here says how good an optimizer is with a language model.

* **Model**: `ladders/{ladder}`, a script of stated quality. Each task's own calibrations order some candidates; the script moves the one that it
  is shown up by a rung in 20 of 100 answers and down in 45, where there is a rung left, and does not understand in 5. In `llm4ad` it moves one of six
  dials of a program; in the other suites a rung is a whole candidate. It reads the candidate and nothing else, and says nothing of use to a
  request for feedback or ideas.
* **Ladders**: {ladders}. They are short: such a task tells only whether an optimizer found the few rungs above its start, and kept them.
* **Suites**: `llm4ad` runs heuristics, Coq's kernel checks the proofs of `veribench_coq`, `autoresearch` runs an experiment on files, and `opto` is a
  small program of Trace whose suite calls it a toy. Tasks marked † have no test split.
* **Not here**: {missing}. Five suites were aimed at, and no fifth was found in which a candidate scores the same each time without a language
  model; where it does not, chance would order equals. So no kernel of `kernelbench` is here, whose score is a time, and of `autoresearch` no
  experiment that is timed or draws numbers. Question answering (`hf`) needs a model that answers: a script would have to be told the right answers
  and which words of a prompt earn them, and would measure its own rule. The cases of `terminal_bench` order settings and no candidates, and
  `veribench` needs Lean and data that are fetched. The other suites are toys or attacks.
* **Price**: {prompt:g} and {completion:g} USD per million prompt and completion tokens; nobody was paid.
* **Optimizers**: {there}, each at its defaults. Not installed where this was made, and so not measured: {away}.
* **Promised**: {jobs} jobs were registered before the first call. What of it was not run is told at the end; no part is shown that is not whole.
* **Reference**: differences are from `{reference}`, which makes independent proposals from the start. A row with a missing score is not ranked;
  it stands below the others, with a mean where it has all scores of a column.
* **±** is half of a 95 % interval of Student, over seeds of a task. ±0.000 says that all seeds scored the same, not that another seed would.
"""  # noqa: E501 - as above


def head_words(size: str, registration: Registration, tasks: Sequence[dict[str, Any]]) -> list[str]:
    """Return the beginning of the page of runs of these tasks."""
    there, away = who(SIZES[size])
    told: dict[str, Any] = {
        "size": size,
        "field": FIELD_MODEL,
        "ladder": LADDER_MODEL,
        **PRICE,
        "there": len(there),
        "away": ", ".join(sorted(away)) or "none",
        "jobs": sum(len(one.seeds) for one in registration.jobs),
        "reference": REFERENCE,
    }
    if not SIZES[size].suites:
        return HEAD.format(**told).splitlines()
    here = tasks_of(SIZES[size])[1]
    ran = {task["id"] for task in tasks}
    missing = {
        id_: here.get(id_, "it could not run where this was promised") for id_ in SIZES[size].suites if id_ not in ran
    }
    told["suites"] = _suites(tasks)
    told["ladders"] = ", ".join(
        _rungs(task["id"], task["eval_kwargs"]) for task in tasks if task["id"] in SIZES[size].suites
    )
    told["missing"] = (
        "; ".join(f"`{id_}` ({why})" for id_, why in missing.items()) or "no task of this size was left out"
    )
    return SUITES_HEAD.format(**told).splitlines()


def _rungs(id_: str, options: dict[str, Any]) -> str:
    try:
        made = ladder(id_, json.dumps(options))
    except (ValueError, TraceBenchError):  # its plugin was removed or is another one since the promise
        return f"the rungs of `{id_}` cannot be told where this page was made"
    return f"`{id_}` has {len(made.rungs)} rungs and starts at the {_ORDINAL[made.start]}"


_ORDINAL = ("first", "second", "third", "fourth")


def _suites(tasks: Sequence[dict[str, Any]]) -> str:
    count = len({task["id"].partition(":")[0] for task in tasks})
    return "one suite" if count == 1 else f"{count} suites"


TAIL = """\
## What this does not show

* How optimizers do with a language model, and what their prompts are worth.
* How they do at other budgets, on other families and tasks, or with other settings than their defaults.
* That a registration was not thrown away and made anew: `promised.txt` beside the receipts holds every head that was on record, and what
  became of it. Where these stand in the history of the repository says when.
""".splitlines()
