"""Check the Coq problems and let two trainers improve prompt and file, against a local server that knows rules and no language.

    python benchmarks/veribench.py problems      # start score, gold score and milliseconds of every problem
    python benchmarks/veribench.py stub          # 16 tasks, two trainers, two seeds in stub mode
    python benchmarks/veribench.py prompt        # PrioritySearch and KeepBest on the prompt of all problems; or one of them, by name
    python benchmarks/veribench.py file          # KeepBest on one file

The server writes a gold proof when the prompt gives the advice that the problem's category needs, and adds one piece of advice when it is
asked for a better prompt. So the curves show that better prompts prove more theorems here, and say nothing about a model. Needs Coq and
`tracebench-opto`.
"""

from __future__ import annotations

import collections
import io
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tracebench_core.proposing.answer_format import shown_values
from tracebench_engine import api
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.job.workbench import open_workbench
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_veribench.coq.catalog import ENTRIES
from tracebench_veribench.coq.problem import load_problem

ADVICE = {
    "State the theorems word for word.": {"arithmetic", "languages", "security"},
    "Prove properties of lists by induction.": {"lists", "search"},
    "State a lemma for each helper function first.": {"sorting", "trees"},
}
TRAINERS: list[dict[str, Any]] = [
    {"id": "PrioritySearch", "optimizer": "Reflective", "params_variants": [{"ps_steps": 4}]},
    {"id": "KeepBest", "params_variants": [{"num_steps": 5}]},
]
PROBLEMS = {load_problem(e.name).title: load_problem(e.name) for e in ENTRIES}


def reply(messages: list[dict[str, Any]]) -> str:
    """Write a file, a better prompt or a better file, by rule."""
    text = "\n".join(str(m["content"]) for m in messages)
    if (shown := shown_values(text)) is not None:
        return json.dumps(
            {"reasoning": "a rule", "values": {name: better(name, str(value)) for name, value in shown.items()}}
        )
    problem = next(p for title, p in PROBLEMS.items() if f"# {title}\n" in text)
    given = {category for advice, categories in ADVICE.items() if advice in text for category in categories}
    body = problem.gold if problem.category in given else problem.skeleton()
    return f"Here it is.\n```coq\n{body}```"


def better(name: str, value: str) -> str:
    """Add the first advice that a prompt lacks; to a file, the next definition or theorem of the gold file."""
    if name == "system_prompt":
        return value + "".join(f"\n{a}" for a in [a for a in ADVICE if a not in value][:1])
    parts = PROBLEMS["Sum of a list"].gold.split("\n\n")
    return "\n\n".join(parts[: sum(part in value for part in parts) + 1]) + "\n"


def show_problems() -> None:
    """Print the table of problems; sandbox, environment and task are open when the clock starts, as they are in a run."""
    print(f"{'problem':24}{'start':>7}{'gold':>6}{'ms':>7}")
    took = []
    host = open_host()
    for entry in ENTRIES:
        with open_workbench(host, f"veribench_coq:file/{entry.name}") as bench:
            (start,) = bench.evaluate({}, split="train")
            for name in ("c1", "c2", "c3"):
                begun = time.perf_counter()
                (gold,) = bench.evaluate({"file": load_problem(entry.name).gold}, split="train", name=name)
                took.append(1000 * (time.perf_counter() - begun))
        ms = statistics.median(took[-3:])
        print(f"{entry.name:24}{start.feedback.score:7.2f}{gold.feedback.score:6.2f}{ms:7.0f}", flush=True)
    print(f"{'median':24}{'':13}{statistics.median(took):7.0f}")


def time_stub() -> None:
    """Run 16 prompt tasks with two trainers and two seeds in stub mode, and print how long that takes."""
    tasks = [f"veribench_coq:{entry.name}" for entry in ENTRIES[:16]]
    config = {
        "mode": "stub",
        "seeds": [1, 2],
        "max_workers": 2,
        "budget": {"evaluations": 10},
        "tasks": tasks,
        "trainers": TRAINERS,
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "config.json")
        place.write_text(json.dumps(config | {"runs_dir": folder}), encoding="utf-8")
        begun = time.perf_counter()
        summary = api.run(api.load_config(place), stream=io.StringIO())
        seconds = time.perf_counter() - begun
        ends = collections.Counter(result.status for result in api.load_run(summary.run_dir).results.values())
        print(
            f"{sum(ends.values())} jobs in {seconds:.1f} s: {', '.join(f'{n} {status}' for status, n in ends.items())}"
        )


def optimise(tasks: list[str], trainers: list[dict[str, Any]]) -> None:
    """Print start and best on validation, and the test score, of each job."""
    os.environ["FAKE_KEY"] = "sk-fake-0123456789"
    with FakeOpenAI(reply=reply) as server, tempfile.TemporaryDirectory() as folder:
        config = {
            "mode": "real", "runs_dir": folder, "seeds": [1, 2], "max_workers": 2, "job_timeout": 600, "tasks": tasks, "trainers": trainers,
            "llm": {"model": "gpt-fake", "base_url": server.base_url, "api_key_env": "FAKE_KEY"}, "budget": {"evaluations": 150},
        }  # fmt: skip
        place = Path(folder, "config.json")
        place.write_text(json.dumps(config), encoding="utf-8")
        summary = api.run(api.load_config(place), stream=io.StringIO())
        run = api.load_run(summary.run_dir)
        print(f"{'task':28}{'trainer':18}{'seed':>5}{'status':>8}{'start':>7}{'best':>7}{'test':>7}{'calls':>7}")
        for result in run.results.values():
            calls = sum(u.llm_calls for u in result.usage.values())
            scores = [result.score_val_initial, result.score_val_best, result.score_test]
            cells = "".join("      -" if s is None else f"{s:7.2f}" for s in scores)
            print(f"{result.task_id:28}{result.trainer_id:18}{result.seed:5}{result.status:>8}{cells}{calls:7}")


def main() -> None:
    """Run the part that is asked for."""
    part = sys.argv[1] if len(sys.argv) > 1 else "problems"
    if part == "problems":
        show_problems()
    elif part == "stub":
        time_stub()
    elif part == "prompt":
        chosen = [trainer for trainer in TRAINERS if trainer["id"] in (sys.argv[2:] or [t["id"] for t in TRAINERS])]
        optimise(["veribench_coq:suite"], chosen)
    else:
        optimise(["veribench_coq:file/list_sum"], [{"id": "KeepBest", "params_variants": [{"num_steps": 6}]}])


if __name__ == "__main__":
    main()
