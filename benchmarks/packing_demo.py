"""Record the run that `trace-bench demo packing` repeats.

    python benchmarks/packing_demo.py

The model is a script behind a local OpenAI-compatible server, and no language model: it knows one family of programs (circles on rings,
pushed apart, then grown) and turns one of its three dials for the better in 75, for the worse in 15 of 100 answers, breaks the program in
5 and otherwise gives it back as it was. So the curves tell how trainers search, and nothing about models.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import shutil
import tempfile
import threading
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from tracebench_core.proposing.answer_format import shown_values
from tracebench_engine import api
from tracebench_testing.fake_openai import FakeOpenAI

ARCHIVE = Path("plugins/tracebench_llm4ad/src/tracebench_llm4ad/demos/packing.zip")
CONFIG = Path("configs/packing_demo.yaml")
LEFT_OUT = ("meta/env.json", "meta/git.json", "meta/files_index.json", "mirror.zip", "llm/gateway.log", ".lock")
FAMILY = '''import numpy as np


def pack_circles(n: int) -> np.ndarray:
    """Start on two rings, push neighbours apart, then let every circle grow into the room that is left."""
    rounds, reach, growth = 1, 0.3, 0
    inner = int(0.35 * (n - 1))
    outer = n - 1 - inner
    angles = 2 * np.pi * np.concatenate([np.arange(inner) / inner, np.arange(outer) / outer + 0.016])
    distance = np.repeat([0.25, 0.47], [inner, outer])
    centres = np.column_stack([0.5 + distance * np.cos(angles), 0.5 + distance * np.sin(angles)])
    centres = np.vstack([[0.5, 0.5], centres])
    wanted = reach / np.sqrt(n)
    for _ in range(rounds):
        apart = centres[:, None] - centres
        gaps = np.hypot(apart[..., 0], apart[..., 1]) + np.eye(n)
        short = np.clip(2 * wanted - gaps, 0.0, None) / gaps
        centres = centres + 0.2 * (apart * short[..., None]).sum(axis=1)
        centres = np.clip(centres, wanted, 1 - wanted)
    gaps = np.hypot(*(centres[:, None] - centres).T)
    np.fill_diagonal(gaps, np.inf)
    walls = np.minimum(centres, 1 - centres).min(axis=1)
    radii = np.minimum(walls, gaps.min(axis=0) / 2)
    for _ in range(growth):
        for k in np.argsort(-radii):
            radii[k] = max(radii[k], min(walls[k], (gaps[k] - radii).min()))
    return np.column_stack([centres, radii])
'''
DIALS = re.compile(r"rounds, reach, growth = (\d+), ([\d.]+), (\d+)")
MOST_ROUNDS, BEST_REACH, FIRST_REACH = 128, 0.5, (0.15, 0.3)
BROKEN = "return 1.05 * "
IMPROVES, HARMS, BREAKS = 0.75, 0.15, 0.05


class Script:
    """Answers by the prompt and by how often it has met it, and by nothing else."""

    def __init__(self) -> None:
        self._met: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        prompt = "\n".join(str(message.get("content")) for message in messages)
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        with self._lock:
            self._met[digest] += 1
            rng = random.Random(f"{digest} {self._met[digest]}")
        values = shown_values(prompt) or {}
        changed = {name: turned(text, rng) for name, text in values.items()}
        return json.dumps({"reasoning": "A rule, not a thought.", "values": changed})


def turned(program: str, rng: random.Random) -> str:
    """Return the program with one of its dials turned."""
    found = DIALS.search(program)
    drawn = rng.random()
    if BROKEN in program:
        return program.replace(BROKEN, "return ")
    if drawn < BREAKS:
        return program.replace("return ", BROKEN)
    if drawn >= BREAKS + IMPROVES + HARMS:
        return program
    if found is None:
        return DIALS.sub(f"rounds, reach, growth = 1, {rng.uniform(*FIRST_REACH):.2f}, 0", FAMILY)
    rounds, reach, growth = int(found[1]), float(found[2]), int(found[3])
    dial, better = rng.choice(("rounds", "rounds", "reach", "growth")), drawn < BREAKS + IMPROVES
    if dial == "rounds":
        rounds = min(2 * rounds, MOST_ROUNDS) if better else max(rounds // 2, 1)
    elif dial == "reach":
        reach = round(reach + (0.05 if (reach < BEST_REACH) == better else -0.05), 2)
    else:
        growth = growth + 1 if better else max(growth - 1, 0)
    return DIALS.sub(f"rounds, reach, growth = {rounds}, {reach}, {growth}", program)


def main() -> None:
    """Record the run, and pack it without what names this machine."""
    os.environ["SCRIPT_KEY"] = "none"
    with FakeOpenAI(reply=Script()) as server, tempfile.TemporaryDirectory() as folder:
        changes = [f"runs_dir={folder}", f"llm.base_url={server.base_url}"]
        summary = api.run(api.load_config(CONFIG, overrides=changes), stream=io.StringIO())
        run_dir = Path(summary.run_dir)
        print(summary.counts)
        for name in LEFT_OUT:
            (run_dir / name).unlink(missing_ok=True)
        ARCHIVE.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(run_dir.rglob("*")):
                archive.write(path, path.relative_to(run_dir.parent))
        if keep := os.environ.get("KEEP"):
            shutil.copytree(run_dir, keep)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
