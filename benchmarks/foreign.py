"""Run other libraries' optimizers beside our own against a local server of rules: what each spent, and how far it came.

    python benchmarks/foreign.py table [TRAINER …]      every trainer on a prompt, on code, on two parameters, on demonstrations
    python benchmarks/foreign.py caps [TRAINER …]       every trainer under a cap of each axis, and the server's own log beside the ledger
    python benchmarks/foreign.py compare [TRAINER …]    with our own trainers, at equal evaluations and at equal tokens
    python benchmarks/foreign.py stub [TRAINER …]       every trainer on three tasks with two seeds and the stub model: how long it takes

The server knows the answers of sample rows and gives them in the right form when the prompt says so. Asked to improve a prompt or a
function it adds or drops a phrase, or takes another function; every second time it goes by the feedback, where the prompt
shows any. It is no language model: what is shown is that every road works, and who pays what. A trainer whose library is not
installed says so.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.extend((str(Path(__file__).parent), str(Path(__file__).parent.parent)))
from hf_rules import PHRASES, Rules  # it chooses the sample rows before the plugin is imported
from plugins.tracebench_trainers_ext.tests.forms import SECTION, in_form, shown, written

from tracebench_core import api
from tracebench_core.config import parse_config
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.specs import JobResult
from tracebench_core.testing.fake_openai import FakeOpenAI
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
COMPARED = {"prompt": TASKS["prompt"], "heuristic": {"id": "llm4ad:online_bin_packing_local"}}
BUDGET = {"evaluations": 60, "llm_calls": 200}
CAPS: dict[str, float] = {"evaluations": 12, "llm_calls": 3, "tokens": 6000, "usd": 0.01}
EQUAL: dict[str, dict[str, float]] = {"evaluations": {"evaluations": 60}, "tokens": {"tokens": 40_000}}
STUB_SECONDS = 240
HEAD = "| task | trainer | evaluations | calls | tokens | USD | start | best | end |\n|---|---|---|---|---|---|---|---|---|"
PRICE = {"prompt": 2.0, "completion": 8.0}
WORDS = [phrase for phrases in PHRASES.values() for phrase in phrases]
COMPLAINTS = {
    "end with `#### ` and the number": "End with #### and the number.",
    "The number is another one": "Think step by step.",
    "left out the paragraph": "Copy both paragraphs.",
    "only the answer itself counts": "Give only the answer.",
}
"""Words of the guides, and the phrase that mends what they complain of."""
BODIES = (
    "bins - item",
    "item - bins",
    "-(bins - item) ** 2",
    "bins * 0 + item",
    "-abs(bins - 2 * item)",
    "item / bins",
)
HEARS = 0.5
"""Share of the answers that go by the feedback."""


class Agent(Rules):
    """Runs the tasks' programs; worked examples help it, and hard questions it gets right every third time."""

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the reply to a prompt."""
        prompt = "\n".join(str(m["content"]) for m in messages)
        self._met[prompt] += 1
        helped = "\n---\n" in prompt or self._met[prompt] % 3 == 0
        return self.answer(f"{prompt} step by step" if helped else prompt)


class Proposer:
    """Improves what a prompt shows, in the form that the prompt asks for; equal prompts get other answers the next time."""

    def __init__(self) -> None:
        self._met: Counter[int] = Counter()

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the reply to a prompt."""
        prompt = written(list(messages))
        digest = zlib.crc32(prompt.encode())
        self._met[digest] += 1
        rng = random.Random(f"{self._met[digest]} {digest}")
        values = shown_values(prompt)
        asked = [phrase for words, phrase in COMPLAINTS.items() if words in prompt] if rng.random() < HEARS else []
        if values is not None:
            better = {n: improved(str(v), rng, asked) if isinstance(v, str) else v for n, v in values.items()}
            return json.dumps({"reasoning": "A rule, not a thought.", "values": better})
        return in_form(
            prompt, improved(shown(prompt) or "Answer the question.", rng, asked), rng.choice(asked or WORDS)
        )


def improved(text: str, rng: random.Random, asked: Sequence[str]) -> str:
    """Return another function in place of a function; else a text, or each part of one, with a phrase more (one asked for) or less."""
    if "def extract_answer" in text:
        return text  # the prompt beside it is what the rules know of
    if "def transform" in text:
        return f"def transform(x):\n    return {rng.randrange(4)} * x + {rng.randrange(4)}\n"
    if "def priority" in text:
        return f"import numpy as np\n\ndef priority(item, bins):\n    return {rng.choice(BODIES)}\n"
    if parts := SECTION.findall(text):
        return "".join(f"### PARAMETER {name}\n{improved(part.strip(), rng, asked)}\n" for name, part in parts)
    missing = [phrase for phrase in asked if phrase not in text]
    if missing:
        return f"{text} {rng.choice(missing)}"
    phrase = rng.choice(WORDS)
    return text.replace(f" {phrase}", "") if phrase in text or rng.random() < 0.3 else f"{text} {phrase}"


def run(
    trainers: Sequence[str], tasks: Sequence[Mapping[str, Any]], budget: Mapping[str, float]
) -> tuple[list[JobResult], Any]:
    """Run trainers on tasks with a server for the program and one for the optimizer; return results and the latter's log."""
    os.environ["FAKE_KEY"] = "sk-fake-0123456789"
    with FakeOpenAI(reply=Agent()) as agent, FakeOpenAI(reply=Proposer()) as optimizer:
        role = {"model": "rules", "api_key_env": "FAKE_KEY"}
        config = {
            "mode": "real",
            "seeds": [1],
            "max_workers": 2,
            "runs_dir": tempfile.mkdtemp(prefix="trace-bench-"),
            "llm": {
                **role,
                "base_url": agent.base_url,
                "prices": {"rules": PRICE},
                "roles": {"optimizer": {**role, "base_url": optimizer.base_url}},
            },
            "budget": dict(budget),
            "tasks": list(tasks),
            "trainers": [{"id": name} for name in trainers],
        }
        done = api.run(parse_config(config), stream=io.StringIO())
        results = list(api.load_run(done.run_dir).results.values())
        return sorted(results, key=lambda r: (r.task_id, r.trainer_id)), optimizer.log


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


def table(trainers: Sequence[str]) -> None:
    """Print trainer x kind of task."""
    print(HEAD)
    for name, task in TASKS.items():
        show(run(trainers, [task], BUDGET)[0], name)


def caps(trainers: Sequence[str]) -> None:
    """Print trainer x axis on the code task, with the optimizer's server beside the ledger."""
    print("| axis | trainer | used | cap | end |\n|---|---|---|---|---|")
    for axis, cap in CAPS.items():
        results, log = run(trainers, [TASKS["code"]], {"evaluations": 400, axis: cap})
        for r in results:
            used = getattr(r.used, axis)
            print(f"| {axis} | {r.trainer_id} | {used:g} | {cap:g} | {r.status}: {r.stop_reason[:60]} |", flush=True)
        usages = [r.usage["optimizer"] for r in results if "optimizer" in r.usage]
        calls, tokens = sum(u.llm_calls for u in usages), sum(u.prompt_tokens + u.completion_tokens for u in usages)
        served = sum(s.prompt_tokens + s.completion_tokens for s in log.served)
        print(
            f"| {axis} | all: ledger, server | {calls} calls, {tokens} tokens | {len(log.served)} calls, {served} tokens | |"
        )


def compare(trainers: Sequence[str]) -> None:
    """Print a question answering task and an algorithm design task at equal evaluations and at equal tokens."""
    for axis, budget in EQUAL.items():
        for name, task in COMPARED.items():
            results = run([*OWN, *trainers], [task], budget)[0]
            ranked = sorted(results, key=lambda r: -(r.score_val_best if r.score_val_best is not None else -1e9))
            print(f"\nequal {axis} ({budget[axis]:g}), {name}:\n")
            print(HEAD)
            show(ranked, name)


def stub(trainers: Sequence[str]) -> None:
    """Print how long all of them take in stub mode on two cores, and how their jobs ended."""
    config = {
        "mode": "stub",
        "seeds": [1, 2],
        "max_workers": 2,
        "runs_dir": tempfile.mkdtemp(prefix="trace-bench-"),
        "budget": {"evaluations": 30},
        "tasks": [TASKS[name] for name in ("prompt", "code", "two")],
        "trainers": [{"id": name} for name in trainers],
    }
    begun = time.perf_counter()
    done = api.run(parse_config(config), stream=io.StringIO())
    seconds = time.perf_counter() - begun
    results = list(api.load_run(done.run_dir).results.values())
    for r in results:
        if r.status == "failed" or (r.status == "skipped" and "not applicable" not in r.stop_reason):
            print(f"{r.task_id}, {r.trainer_id}, {r.status}: {r.stop_reason or r.error}")
    ends = ", ".join(f"{number} {status}" for status, number in Counter(r.status for r in results).items())
    print(f"{len(results)} jobs in {seconds:.0f} s ({ends}); target {STUB_SECONDS} s for all trainers on 2 cores")


if __name__ == "__main__":
    what = {"table": table, "caps": caps, "compare": compare, "stub": stub}
    if len(sys.argv) < 2 or sys.argv[1] not in what:
        sys.exit(__doc__)
    what[sys.argv[1]](sys.argv[2:] or FOREIGN)
