"""Compare our checkers of IFEval's 25 instructions with those of lm-evaluation-harness, instruction by instruction, on the same replies.

    python -m venv peers && peers/bin/pip install --no-deps lm_eval==0.4.13 nltk immutabledict langdetect six packaging regex
    python benchmarks/hf_ifeval.py --peers peers/bin/python

The replies are the 648 of SmolLM2-135M-Instruct in `hf_replies.jsonl`, those that follow our own rows, and each of these with its lines,
its case and its asterisks changed; 1,000 of them are asked of every instruction, with the settings of our rows in turn. Instructions
whose checker needs nltk's model of English are left out where it is not there, and told.

Exits with 1 where an instruction agrees on less than 99 of 100.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracebench_hfqa.families.instructions import follows
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES

HERE = Path(__file__).parent
IN_ALL, LEAST = 1_000, 0.99
THEIRS = """
import importlib.util, json, sys, types
from pathlib import Path
import nltk
nltk.download = lambda *a, **k: True
where = Path(importlib.util.find_spec("lm_eval").submodule_search_locations[0]) / "tasks" / "ifeval"
for name in ("lm_eval", "lm_eval.tasks", "lm_eval.tasks.ifeval"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(where)]
from lm_eval.tasks.ifeval import instructions_registry
import langdetect
langdetect.DetectorFactory.seed = 0
for line in sys.stdin:
    name, told, reply = json.loads(line)
    made = instructions_registry.INSTRUCTION_DICT[name](name)
    made.build_description(**told)
    try:
        said = bool(reply.strip() and made.check_following(reply))
    except LookupError:
        said = None
    print(json.dumps(said))
"""


def settings() -> dict[str, list[dict[str, Any]]]:
    """Return the settings of each instruction in our rows."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_file(SAMPLES / "ifeval.jsonl"):
        for name, told in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            found[name].append({k: v for k, v in told.items() if v is not None})
    return found


def replies() -> list[str]:
    """Return replies: a model's, those that follow our rows, and what both become by small changes."""
    rows = [json.loads(line)["reply"] for line in (HERE / "hf_replies.jsonl").read_text(encoding="utf-8").splitlines()]
    rows += [str(row["followed"]) for row in read_file(SAMPLES / "ifeval.jsonl")]
    return list(dict.fromkeys(changed for row in rows for changed in changes(row)))


def followed(name: str) -> list[str]:
    """Return the replies that follow our rows of an instruction."""
    rows = read_file(SAMPLES / "ifeval.jsonl")
    return [str(row["followed"]) for row in rows if name in row["instruction_id_list"]]


def changes(reply: str) -> Iterator[str]:
    """Yield a reply and what it becomes by small changes."""
    yield from (
        reply,
        reply.upper(),
        reply.lower(),
        f"Sure:\n\n{reply}",
        f'"{reply}"',
        reply.replace(".", ".\n\n"),
        f"* {reply}\n- {reply}",
    )
    yield from (
        f"<<{reply[:20]}>>\n{reply}",
        f"{reply}\n***\n{reply}",
        f"{reply}\n******\n{reply}!",
        f"*{reply[:9]}* and [it] {reply} P.S. {reply}",
    )


def main() -> int:
    """Print agreement by instruction; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="a Python with lm_eval's files")
    told = parser.parse_args()
    draw = random.Random(0)
    every, known = replies(), settings()
    own = {name: [changed for reply in followed(name) for changed in changes(reply)] for name in known}
    asked = []
    for name, options in known.items():
        drawn = [*own[name], *draw.sample(every, IN_ALL - len(own[name]))]
        asked += [(name, options[i % len(options)], reply) for i, reply in enumerate(drawn)]
    done = subprocess.run(
        [told.peers, "-c", THEIRS], input="\n".join(map(json.dumps, asked)), capture_output=True, text=True, check=True
    )
    theirs = [json.loads(line) for line in done.stdout.splitlines() if line in {"true", "false", "null"}]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for (name, options, reply), other in zip(asked, theirs, strict=True):
        ours = follows(reply, name, options)
        row = counts[name]
        row[0] += other is not None
        row[1] += bool(other)
        row[2] += other is not None and ours == other
        row[3] += other is None
        if other is not None and ours != other and row[0] - row[2] <= 2:
            print(f"# {name} {options}: ours {ours}, theirs {other}: {reply[:160]!r}", file=sys.stderr)
    print("| instruction | replies | followed, says the harness | agrees |\n|---|---|---|---|")
    for name, (count, kept, same, left) in sorted(counts.items()):
        agrees = f"{same / count:.3f}" if count else "not compared: nltk's model is not there"
        print(
            f"| {name} | {count} | {kept if count else ''} | {agrees}{f', {left} not compared' if left and count else ''} |"
        )
    total = [sum(row[i] for row in counts.values()) for i in range(4)]
    print(f"| all | {total[0]} | {total[1]} | {total[2] / total[0]:.4f} |")
    return int(any(same < LEAST * count for count, _, same, _ in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
