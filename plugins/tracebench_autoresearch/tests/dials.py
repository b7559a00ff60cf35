"""A quick experiment for tests, and a rule-based model that edits it: a number in a file, scored by awk with noise."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

WITH_UV = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(__file__).parents[3] / ".tools/bin")])
"""`PATH`, with the `uv` of a checkout that README's first command has set up: it builds an environment in a tenth of `venv`'s time."""
EXPERIMENT = """
title: Turn a dial
editable: [dial.txt]
run: {{command: "sh score.sh {{seed}}", seconds: 10}}
metric: {{name: loss, direction: minimize}}
metrics: [{{name: memory_mb, direction: minimize, maximum: 100}}]
{more}
"""
SCORE = """\
. ./dial.txt
echo "loss: 99 (a first guess)"
[ -n "$crash" ] && { echo "cannot go on" >&2; exit 3; }
[ -n "$hang" ] && sleep 60
[ -n "$silent" ] && { echo done | sed s/loss//; exit 0; }
awk -v seed="$1" -v rate="$rate" -v noise=NOISE 'BEGIN { srand(seed); u = rand() + rand() + rand() + rand() + rand() + rand() - 3
  printf "loss: %.6f\\nmemory_mb: %d\\n", (rate - 3) ^ 2 + 1 + u * noise, rate * 10 }'
"""
RUN = """
mode: real
uncalibrated: score
seeds: [1]
job_timeout: 0
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {{prompt: 1.0, completion: 2.0}}}}}}
tasks: ["autoresearch:{task}"]
trainers: [{trainer}]
"""
STEPS = (
    ("a smaller rate", "rate=5", "rate=4"),
    ("a comment, which changes nothing", "flavour=plain", "flavour=fancy"),
    ("a larger rate", "rate=4", "rate=9"),
    ("this crashes", "crash=", "crash=yes"),
    ("text that is not there", "nowhere", "anywhere"),
    ("the best rate", "rate=4", "rate=3"),
)


def write(root: Path, name: str, experiment: dict[str, object], files: dict[str, str]) -> None:
    """Write an experiment and its files."""
    (root / name).mkdir(parents=True)
    (root / name / "experiment.yaml").write_text(json.dumps(experiment))
    for path, text in files.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_text(text)


def write_dial(root: Path, *, name: str = "dial", noise: float = 0.01, more: str = "") -> Path:
    """Write the experiment below a root and return its folder."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "experiment.yaml").write_text(EXPERIMENT.format(more=more))
    (folder / "dial.txt").write_text("rate=5\nflavour=plain\ncrash=\nhang=\nsilent=\n")
    (folder / "score.sh").write_text(SCORE.replace("NOISE", str(noise)))
    return folder


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def answer(messages: list[dict[str, Any]]) -> str:
    """Propose the step that comes after those the prompt tells of."""
    prompt = str(messages[-1]["content"])
    tried = re.search(r"# Experiments so far.*?\n((?:- .*\n)+)", prompt)
    done = tried[1] if tried else ""
    refused = "not there" in prompt or "is not in" in prompt
    for words, old, new in STEPS:
        if words in done or (old == "nowhere" and refused):
            continue
        return f"Hypothesis: {words}\n\n{block('dial.txt', old, new)}"
    return "I have no idea left."
