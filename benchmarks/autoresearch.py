"""What an experiment costs beside its command, and the loop on a shipped experiment; how often noise is kept is `autoresearch_noise.py`.

python benchmarks/autoresearch.py overhead --rounds 5  # a command in a box; baseline: as a plain subprocess
python benchmarks/autoresearch.py loop                 # the loop on `tiny_lm` and a rule-based server; baseline: two trainers
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracebench_autoresearch.evaluation.box import run_in_box
from tracebench_autoresearch.experiment import Command
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot, write_files
from tracebench_autoresearch.trainer.prompts import shown_files
from tracebench_core.proposing.answer_format import shown_values
from tracebench_sandbox import open_sandbox
from tracebench_testing.fake_openai import FakeOpenAI

_PROGRAM = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""A program as OpenEvolve shows it; the current one stands last."""
OPENEVOLVE = "{id: OpenEvolve, params_variants: [{iterations: 7, num_islands: 1, parallel_evaluations: 1, diff_based_evolution: true}]}"
TRAINERS = (
    "{id: Autoresearch, params_variants: [{num_experiments: 7, max_repeats: 9}]}",
    "{id: SequentialRefine, params_variants: [{num_steps: 7}]}",
    "{id: PrioritySearch, optimizer: Reflective, params_variants: [{ps_steps: 7, ps_candidates: 1, ps_proposals: 1}]}",
)
CONFIG = """
mode: real
seeds: [1]
job_timeout: 3600
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {{prompt: 1.0, completion: 2.0}}}}}}
tasks: ["autoresearch:tiny_lm"]
trainers: [{trainers}]
"""
IDEAS = (
    ("a larger learning rate", "RATE = 0.05", "RATE = 0.5"),
    ("another name for nothing", "BATCH = 64", "BATCH = 64  # as many as fit"),
    ("a learning rate that is far too large", "RATE = 0.5", "RATE = 50.0"),
    ("one more character of context", "CONTEXT = 3", "CONTEXT = 4"),
    ("a typing error", "def train(text, seconds, seed):", "deff train(text, seconds, seed):"),
    ("a wider hidden layer", "HIDDEN = 48", "HIDDEN = 96"),
    ("a slightly different scale", "SCALE = 0.1", "SCALE = 0.11"),
)
"""Good, neutral, bad and broken edits, in the order in which the rule-based server proposes them."""


def overhead(rounds: int) -> None:
    """Print the seconds of a command in a box beside those of the bare command, in turns, for repositories of 1 and of 200 files."""
    command = Command.model_validate({"command": ["sh", "a.sh"]})
    seconds: dict[str, list[float]] = {"bare": [], "1 file": [], "200 files": []}
    one = {"a.sh": Entry("100644", b"echo m: 1\n")}
    trees = {
        "1 file": Snapshot("", one),
        "200 files": Snapshot("", one | {f"m{n}.py": Entry("100644", b"x = 1\n" * 100) for n in range(199)}),
    }
    with open_sandbox() as sandbox, tempfile.TemporaryDirectory() as folder:
        write_files(trees["1 file"], Path(folder))
        for _ in range(rounds):
            began = time.perf_counter()
            subprocess.run(["sh", "a.sh"], cwd=folder, check=True, capture_output=True)
            seconds["bare"].append(time.perf_counter() - began)
            for name, tree in trees.items():
                began = time.perf_counter()
                run_in_box(sandbox, command, tree, stdin="", seed=1, seconds=60)
                seconds[name].append(time.perf_counter() - began)
    bare = statistics.median(seconds.pop("bare"))
    for name, found in seconds.items():
        middle = statistics.median(found)
        print(
            f"{name}: bare {bare:.3f} s, in a box {middle:.3f} s (least {min(found):.3f}): {middle - bare:+.3f} s beside the command"
        )
    whole = whole_experiments(trees["200 files"], 4 * rounds)
    middle = statistics.median(whole)
    print(
        f"200 files, proposal to verdict: {middle:.3f} s (least {min(whole):.3f}): {middle - bare:+.3f} s beside the command (goal 0.15)"
    )


def whole_experiments(tree: Snapshot, count: int) -> list[float]:
    """Return the seconds of experiments of a job, from the model's being asked to the verdict."""
    with tempfile.TemporaryDirectory() as name:
        scratch, numbers = Path(name), itertools.count(2)
        (scratch / "root/small").mkdir(parents=True)
        write_files(tree, scratch / "root/small")
        (scratch / "root/small/experiment.yaml").write_text("editable: [a.sh]\nrun: sh a.sh\nmetric: {name: m}\n")
        trainer = f"{{id: Autoresearch, params_variants: [{{num_experiments: {count}, accept: greedy}}]}}"

        def reply(_messages: list[dict[str, Any]]) -> str:
            return f"Hypothesis: another\nFILE: a.sh\n```\necho m: {-next(numbers)}\n```\n"

        with FakeOpenAI(reply=reply) as server:
            config = CONFIG.format(url=server.base_url, trainers=trainer)
            (scratch / "run.yaml").write_text(config.replace("autoresearch:tiny_lm", "autoresearch:small"))
            words = ["run", "--config", "run.yaml", "--root", "root", "--runs-dir", "runs"]
            subprocess.run(
                [sys.executable, "-m", "tracebench_engine.cli", *words], cwd=scratch, check=True, capture_output=True
            )
        (path,) = scratch.glob("runs/*/jobs/*/events.jsonl")
        events = [json.loads(line) for line in path.read_text().splitlines()]
        begun = [event["mono"] for event in events if event["kind"] == "step_started"]
        ended = [event["mono"] for event in events if event["kind"] == "step_finished"]
        return [end - begin for begin, end in zip(begun, ended, strict=True)][1:]


def propose(messages: list[dict[str, Any]]) -> str:
    """Answer like a model with the next idea, in the form that the prompt asks for: blocks to `Autoresearch`, a program to others.

    `Autoresearch` is told what was tried. Others are not: they get the first idea that the program does not have yet, and every third
    time one drawn by chance, from a generator that the prompt seeds.
    """
    prompt = str(messages[-1]["content"])
    shown = shown_values(prompt)
    if shown is None and shown_files(prompt):
        fresh = [idea for idea in IDEAS if idea[0] not in prompt]
        return f"Hypothesis: {fresh[0][0]}\n\ntrain.py\n{_block(fresh[0])}" if fresh else "no idea is left"
    text = shown["files"]["train.py"] if shown is not None else (_PROGRAM.findall(prompt) or [""])[-1]
    left = [idea for idea in IDEAS if idea[1] in text and f"{idea[2]}\n" not in text]
    if not left:
        return "no idea is left"
    rng = random.Random(prompt)
    idea = rng.choice(left) if rng.random() < 1 / 3 else left[0]
    if shown is None:
        return f"{idea[0]}\n\n{_block(idea)}"
    return json.dumps({"reasoning": idea[0], "values": {"files": {"train.py": text.replace(idea[1], idea[2])}}})


def _block(idea: tuple[str, str, str]) -> str:
    return f"<<<<<<< SEARCH\n{idea[1]}\n=======\n{idea[2]}\n>>>>>>> REPLACE\n"


def loop(trainers: Sequence[str], keep: Path | None) -> None:
    """Print the history of each trainer on `tiny_lm`; the run is left in `keep`."""
    with ExitStack() as stack:
        scratch = str(keep or stack.enter_context(tempfile.TemporaryDirectory()))
        Path(scratch).mkdir(parents=True, exist_ok=True)
        server = stack.enter_context(FakeOpenAI(reply=propose))
        config = Path(scratch, "run.yaml")
        config.write_text(CONFIG.format(url=server.base_url, trainers=", ".join(trainers)))
        words = [sys.executable, "-m", "tracebench_engine.cli"]
        subprocess.run(
            [*words, "run", "--config", str(config), "--runs-dir", scratch, "-o", "run_id=r"],
            check=True,
            capture_output=True,
        )
        for job in sorted(Path(scratch, "r", "jobs").iterdir()):
            subprocess.run([*words, "autoresearch", "history", str(job), "--oldest-first"], check=True)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "loop"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trainers", type=int, default=len(TRAINERS), help="for `loop`: the first so many")
    parser.add_argument(
        "--openevolve", action="store_true", help="for `loop`: that library's search, too (`pythons create ext`)"
    )
    parser.add_argument("--keep", type=Path, help="for `loop`: the folder in which the run `r` is left")
    asked = parser.parse_args()
    if asked.what == "overhead":
        overhead(asked.rounds)
    else:
        loop((*TRAINERS[: asked.trainers], *([OPENEVOLVE] if asked.openevolve else ())), asked.keep)


if __name__ == "__main__":
    sys.exit(main())
