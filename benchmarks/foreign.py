"""Run other libraries' optimizers beside our own against a local server of rules: what each spent, and how far it came.

    python benchmarks/foreign.py table [TRAINER …]      every trainer on a prompt, on code, on two parameters, on demonstrations
    python benchmarks/foreign.py caps [TRAINER …]       every trainer under a cap of each axis, and the server's own log beside the ledger
    python benchmarks/foreign.py compare [TRAINER …]    with our own trainers, at equal evaluations and at equal tokens
    python benchmarks/foreign.py stub [TRAINER …]       every trainer on three tasks with two seeds and the stub model: how long it takes
    python benchmarks/foreign.py listing                what the plugin adds to `list-trainers`
    python benchmarks/foreign.py overhead               what adapter and door add to an evaluation of 50 ms

The server knows the answers of sample rows and gives them in the right form when the prompt says so. Asked to improve a prompt or a
function it adds or drops a phrase, or takes another function; every second time it goes by the feedback, where the prompt
shows any. It is no language model: what is shown is that every road works, and who pays what. A trainer whose library is not
installed says so. `table` and `compare` go on where they were ended, when `--folder` says where they keep their runs.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from foreign_costs import listing, overhead, stub
from foreign_rules import Agent, Proposer  # it chooses the sample rows before the plugin is imported

from tracebench_core.specs import JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.specs import TRAINER_SPECS

OWN = ("NoOp", "BestOfN", "SequentialRefine", "PrioritySearch", "GEPA-Base")
FOREIGN = tuple(s.name for s in TRAINER_SPECS if s.name not in {"Agent", "DSPyTrainer"})
SIZES = {"num_train": 4, "num_validate": 4, "num_test": 4}
TASKS: dict[str, dict[str, Any]] = {
    "prompt": {"id": "hf:gsm8k", "eval_kwargs": SIZES},
    "code": {"id": "internal:code_param"},
    "two": {"id": "hf:hotpot_qa", "eval_kwargs": {**SIZES, "program": "two_hop"}},
    "shots": {
        "id": "hf:gsm8k",
        "eval_kwargs": {
            **SIZES,
            "program": "few_shot",
            "initial_instructions": "Solve it. End with #### and the number.",
        },
    },
}
COMPARED = {
    "prompt": TASKS["prompt"],
    "routing": {"id": "llm4ad:optimization/cvrp_construct", "eval_kwargs": {"problem_size": 20}},
}
BUDGET = {"evaluations": 60, "llm_calls": 200}
CAPS: dict[str, float] = {"evaluations": 12, "llm_calls": 3, "tokens": 6000, "usd": 0.01}
EQUAL: dict[str, dict[str, float]] = {
    "evaluations": {"evaluations": 60},
    "tokens": {"tokens": 12_000, "evaluations": 200},
}
"""The second cap of `tokens` ends those that ask no model."""
HEAD = "| task | trainer | evaluations | calls | tokens | USD | start | best | end |\n|---|---|---|---|---|---|---|---|---|"
PRICE = {"prompt": 2.0, "completion": 8.0}


def run(
    trainers: Sequence[str], task: Mapping[str, Any], budget: Mapping[str, float], folder: Path | None = None
) -> tuple[list[JobResult], Any]:
    """Run trainers on a task with a server for the program and one for the optimizer; return results and the latter's log."""
    os.environ["FAKE_KEY"] = "sk-fake-0123456789"
    with FakeOpenAI(reply=Agent()) as agent, FakeOpenAI(reply=Proposer()) as optimizer:
        role = {"model": "rules", "api_key_env": "FAKE_KEY"}
        config = {
            "mode": "real",
            "seeds": [1],
            "salt": "public",  # the same instances in every run
            "max_workers": 2,
            "runs_dir": str(folder or tempfile.mkdtemp(prefix="trace-bench-")),
            "llm": {
                **role,
                "base_url": agent.base_url,
                "prices": {"rules": PRICE},
                "roles": {"optimizer": {**role, "base_url": optimizer.base_url}},
            },
            "budget": dict(budget),
            "tasks": [task],
            "trainers": [{"id": name, **({"optimizer": "Reflective"} if name in OWN else {})} for name in trainers],
        }
        done = api.run(parse_config(config), stream=io.StringIO())
        return sorted(api.load_run(done.run_dir).results.values(), key=lambda r: r.trainer_id), optimizer.log


def alone(trainer: str, task: Mapping[str, Any], budget: Mapping[str, float], folder: Path) -> JobResult:
    """Run a trainer with servers of its own, for what they answer depends on what they were asked; once for each folder."""
    done = next(folder.glob("*/jobs/*/results.json"), None)
    if done is None:
        return run([trainer], task, budget, folder)[0][0]
    return next(iter(api.load_run(done.parents[2]).results.values()))


def number(value: float | None, digits: int = 3) -> str:
    """Write a number down; what is not known is a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def show(results: Sequence[JobResult], name: str) -> None:
    """Print one line a job."""
    for r in results:
        used = r.used
        end = (r.stop_reason or str(r.error)).splitlines()[0][:90]
        print(
            f"| {name} | {r.trainer_id} | {used.evaluations} | {used.llm_calls} | {used.tokens} | {number(used.usd, 4)} | "
            f"{number(r.score_val_initial)} | {number(r.score_val_best)} | {r.status}: {end} |",
            flush=True,
        )


def table(trainers: Sequence[str], folder: Path) -> None:
    """Print trainer x kind of task."""
    print(HEAD)
    for kind, task in TASKS.items():
        for name in trainers:
            show([alone(name, task, BUDGET, folder / "table" / kind / name)], kind)


def caps(trainers: Sequence[str], _folder: Path) -> None:
    """Print trainer x axis on the code task, with the optimizer's server beside the ledger."""
    print("| axis | trainer | used | cap | end |\n|---|---|---|---|---|")
    for axis, cap in CAPS.items():
        results, log = run(trainers, TASKS["code"], {"evaluations": 400, axis: cap})
        for r in results:
            used = getattr(r.used, axis)
            print(f"| {axis} | {r.trainer_id} | {used:g} | {cap:g} | {r.status}: {r.stop_reason[:60]} |", flush=True)
        usages = [r.usage["optimizer"] for r in results if "optimizer" in r.usage]
        calls, tokens = sum(u.llm_calls for u in usages), sum(u.prompt_tokens + u.completion_tokens for u in usages)
        served = sum(s.prompt_tokens + s.completion_tokens for s in log.served)
        print(
            f"| {axis} | all: ledger, server | {calls} calls, {tokens} tokens | {len(log.served)} calls, {served} tokens | |"
        )


def compare(trainers: Sequence[str], folder: Path) -> None:
    """Print a question answering task and an algorithm design task at equal evaluations and at equal tokens, the best first."""
    for axis, budget in EQUAL.items():
        for name, task in COMPARED.items():
            results = [alone(t, task, budget, folder / axis / name / t) for t in (*OWN, *trainers)]
            ranked = sorted(results, key=lambda r: -(r.score_val_best if r.score_val_best is not None else -1e9))
            print(f"\nequal {axis} ({', '.join(f'{cap:g} {a}' for a, cap in budget.items())}), {name}:\n\n{HEAD}")
            show(ranked, name)


def main() -> None:
    """Do what the first argument says."""
    what: dict[str, Callable[[Sequence[str], Path], None]] = {
        "table": table,
        "caps": caps,
        "compare": compare,
        "stub": lambda trainers, _: stub(trainers, [TASKS[kind] for kind in ("prompt", "code", "two")]),
        "listing": lambda _, folder: listing(folder),
        "overhead": lambda _, folder: overhead(folder),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=what)
    parser.add_argument("trainers", nargs="*", default=FOREIGN, help="all foreign ones by default")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.mkdtemp(prefix="trace-bench-")))
    given = parser.parse_args()
    what[given.what](given.trainers, given.folder)


if __name__ == "__main__":
    main()
