"""What a real run says at its end, of fifteen edits by a scripted model of which nine are worth 1 each and six nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import RUN, block, write

from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("autoresearch"), pytest.mark.timeout(1200)]
GOOD = [f"g{number}" for number in range(9)]
NAMES = "g0 n0 g1 n1 g2 g3 n2 g4 g5 n3 g6 g7 n4 g8 n5".split()  # noqa: SIM905 - in this order
SCORE = f"""\
. ./dial.txt
awk -v seed="$1" -v g="$(({"+".join(GOOD)}))" 'BEGIN {{ srand(seed); u = rand() + rand() + rand() + rand() + rand() + rand() - 3
  printf "loss: %.6f\\n", 20 - g + u / 2 }}'
"""
TRAINER = "{{id: Autoresearch, params_variants: [{{num_experiments: 15, memory: 20, accept: {accept}}}]}}"


def reply(messages: list[dict[str, Any]]) -> str:
    """Turn the next dial that was not turned yet."""
    prompt = str(messages[-1]["content"])
    tried = re.search(r"# Experiments so far.*?\n((?:- .*\n)+)", prompt)
    done = tried[1] if tried else ""
    left = [name for name in NAMES if f"turn {name}:" not in done and f"{name}=0" in prompt]
    return f"Hypothesis: turn {left[0]}: it may help\n\n{block('dial.txt', f'{left[0]}=0', f'{left[0]}=1')}"


def ended(folder: Path, accept: str) -> list[str]:
    """Return what `autoresearch best` prints of a run by the command."""

    def trace_bench(*words: str) -> str:
        argv = [sys.executable, "-m", "tracebench_engine.cli", *words, "--runs-dir", str(folder / "runs")]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=folder, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    experiment = {
        "editable": ["dial.txt"],
        "run": {"command": "sh score.sh {seed}", "seconds": 60},
        "metric": {"name": "loss", "direction": "minimize"},
    }
    files = {"dial.txt": "\n\n\n".join(f"{name}=0" for name in NAMES) + "\n", "score.sh": SCORE}
    write(folder / "root", "dials", experiment, files)
    with FakeOpenAI(reply=reply) as server:
        (folder / "run.yaml").write_text(
            RUN.format(url=server.base_url, task="dials", trainer=TRAINER.format(accept=accept))
        )
        trace_bench("run", "--config", "run.yaml", "--root", "root", "-o", "run_id=r")
    return trace_bench("autoresearch", "best", "r").splitlines()


def test_the_report_counts_what_stands_and_bounds_the_gain(tmp_path: Path) -> None:
    printed = ended(tmp_path, "noise_aware")

    at = next(place for place, line in enumerate(printed) if line.startswith("Measured anew: "))
    told = re.fullmatch(
        r"Measured anew: of (\d+) kept, (\d+) confirmed, total gain (\S+) \[(\S+), (\S+)\]", printed[at]
    )
    assert told is not None, printed[at]
    kept, confirmed, (gain, low, high) = int(told[1]), int(told[2]), map(float, told.groups()[2:])
    assert kept >= confirmed >= 8
    assert low <= gain <= high
    assert low <= confirmed <= high + 1, "each that stands is worth 1"
    edits = [line.split("\t") for line in printed[at + 1 :]]
    assert sum(words[1] == "confirmed" for words in edits) == confirmed
    assert len(edits) == kept


def test_better_once_keeps_edits_that_are_worth_nothing(tmp_path: Path) -> None:
    """The original's rule, on the same edits: at least one of the six is kept by luck."""
    kept = [
        name for line in ended(tmp_path, "greedy") if (found := re.search(r"turn (\w+):", line)) for name in [found[1]]
    ]

    assert len(set(kept) & set(GOOD)) >= 7
    assert set(kept) - set(GOOD)
