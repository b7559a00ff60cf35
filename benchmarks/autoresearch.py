"""How often noise is kept, and how often a true gain: `noise_aware` against `greedy`; and what an experiment costs beside its command.

    python benchmarks/autoresearch.py validity             # 200 simulated runs of 20 proposals; baseline: the greedy rule
    python benchmarks/autoresearch.py overhead --rounds 5  # an evaluation; baseline: the same command as a plain subprocess

The simulation draws measurements from a normal distribution with standard deviation 1; the rules are the trainer's own.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tracebench_autoresearch.trainer.judging import Greedy, NoiseAware, Rule
from tracebench_core.builtin.hosting import open_host
from tracebench_core.engine.evaluation import evaluate_values

BASELINE = 4
EXPERIMENT = "editable: [a.sh]\nrun: {command: sh a.sh}\nmetric: {name: m}\n"


def simulate(
    build: Callable[[], Rule], *, gain: float, runs: int, proposals: int, repeats: int
) -> tuple[float, float, float, float]:
    """Return the shares of proposals that were accepted and indecisive, of runs with an acceptance, and measurements per proposal.

    Each proposal measures `gain` above what is kept at that time.
    """
    verdicts: list[str] = []
    struck, measured = 0, 0
    for seed in range(runs):
        rng, rule, level, any_accepted = random.Random(seed), build(), 0.0, False
        rule.start([rng.gauss(level, 1.0) for _ in range(repeats)])
        for _ in range(proposals):
            count = [1]

            def draw(mean: float, count: list[int] = count, rng: random.Random = rng) -> float:
                count[0] += 1
                return rng.gauss(mean, 1.0)

            ruling = rule.judge(rng.gauss(level + gain, 1.0), lambda: draw(level + gain), lambda: draw(level))  # noqa: B023
            verdicts.append(ruling.verdict)
            measured += count[0]
            if ruling.verdict == "accepted":
                level += gain
                any_accepted = True
        struck += any_accepted
    total = len(verdicts)
    return verdicts.count("accepted") / total, verdicts.count("indecisive") / total, struck / runs, measured / total


def validity(runs: int, proposals: int) -> None:
    """Print the tables of false acceptances and of power."""
    rules: dict[str, tuple[Callable[[], Rule], int]] = {
        "greedy": (Greedy, 1),
        "noise_aware, 3 repeats": (lambda: NoiseAware(max_repeats=3), BASELINE),
        "noise_aware, 5 repeats": (NoiseAware, BASELINE),
        "noise_aware, 10 repeats": (lambda: NoiseAware(max_repeats=10), BASELINE),
        "noise_aware, 20 repeats": (lambda: NoiseAware(max_repeats=20), BASELINE),
    }
    for gain, title in (
        (0.0, "A/A: edits that change nothing"),
        (1.0, "edits that gain one standard deviation"),
        (2.0, "two"),
    ):
        print(f"\n{title}: {runs} runs of {proposals} proposals")
        print(f"{'rule':<26}{'accepted':>10}{'indecisive':>12}{'runs with any':>15}{'measurements each':>19}")
        for name, (build, repeats) in rules.items():
            accepted, indecisive, struck, each = simulate(
                build, gain=gain, runs=runs, proposals=proposals, repeats=repeats
            )
            print(f"{name:<26}{accepted:>9.1%}{indecisive:>11.1%}{struck:>14.1%}{each:>16.2f}")


def overhead(rounds: int) -> None:
    """Print the seconds of an evaluation beside those of its command, in turns, on a repository of 200 files."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "e")
        folder.mkdir()
        (folder / "experiment.yaml").write_text(EXPERIMENT)
        (folder / "a.sh").write_text("echo m: 1\n")
        for n in range(200):
            (folder / f"module_{n}.py").write_text("x = 1\n" * 100)
        host = open_host(root=Path(scratch))
        ours, bare = [], []
        for _ in range(rounds):
            began = time.perf_counter()
            subprocess.run(["sh", "a.sh"], cwd=folder, check=True, capture_output=True)
            bare.append(time.perf_counter() - began)
            (feedback,) = evaluate_values(host, "autoresearch:e", None, split="train", eval_kwargs={}, seed=0)
            ours.append(feedback.metrics["run_seconds"])
        print(f"command {statistics.median(bare):.3f} s, in the box {statistics.median(ours):.3f} s: "
              f"{statistics.median(ours) - statistics.median(bare):+.3f} s (200 files; medians of {rounds})")  # fmt: skip


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["validity", "overhead"])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--proposals", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.what == "validity":
        validity(asked.runs, asked.proposals)
    else:
        overhead(asked.rounds)


if __name__ == "__main__":
    sys.exit(main())
