"""Compare the scorer of mathematics with lm-evaluation-harness, with math-verify alone, and with the truth, on 1,000 replies.

    pip install "tracebench-hfqa[math]"
    python -m venv peers && peers/bin/pip install --no-deps lm_eval==0.4.13
    python benchmarks/hf_math.py --peers peers/bin/python

The replies give our rows' answers, or a wrong one, in the forms of `tracebench_hfqa.forms`, so that the truth is known by construction.
Of the harness its functions for MATH are taken: the last box, compared as text.
Exits with 1 where another agrees with the truth more often.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys

from math_verify import parse, verify

from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.families.math import FAMILY
from tracebench_hfqa.forms import forms, gold_of, hedges, rival_of
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES, read_cases

IN_ALL = 1_000
THEIRS = """
import importlib.util, json, sys, types
from pathlib import Path
sys.modules["datasets"] = types.ModuleType("datasets")
sys.modules["datasets"].Dataset = object
where = Path(importlib.util.find_spec("lm_eval").submodule_search_locations[0]) / "tasks" / "hendrycks_math" / "utils.py"
spec = importlib.util.spec_from_file_location("utils", where)
utils = importlib.util.module_from_spec(spec)
spec.loader.exec_module(utils)
for line in sys.stdin:
    gold, reply = json.loads(line)
    solution = "$\\\\boxed{" + gold + "}$"
    print(json.dumps(bool(utils.process_results({"solution": solution}, [reply])["exact_match"])))
"""


def replies() -> list[tuple[str, str, bool]]:
    """Return golds and replies with their truth."""
    entry = next(entry for entry in shipped_entries() if entry.id == "math500")
    path = SAMPLES / "math-500.jsonl"
    found = []
    for case in read_cases(entry, "any", read_file(path), where=path.name):
        gold, rival = gold_of("math", case), rival_of("math", case)
        found += [(gold, form.reply, True) for form in forms("math", gold, rival)]
        found += [(gold, form.reply, False) for form in forms("math", rival, gold)]
        found += [(gold, form.reply, False) for form in hedges(gold, rival)]
    random.Random(0).shuffle(found)
    return found[:IN_ALL]


def by_math_verify(gold: str, reply: str) -> bool:
    """Tell what math-verify says of a whole reply."""
    return bool(verify(parse(f"${gold}$"), parse(reply)))


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="a Python with lm_eval's files")
    told = parser.parse_args()
    rows = replies()
    asked = "\n".join(json.dumps([gold, reply]) for gold, reply, _ in rows)
    done = subprocess.run([told.peers, "-c", THEIRS], input=asked, capture_output=True, text=True, check=True)
    said = {
        "ours": [FAMILY.score(reply, Case(question="", gold=gold)).score == 1 for gold, reply, _ in rows],
        "lm_eval hendrycks_math": [json.loads(line) for line in done.stdout.splitlines()],
        "math-verify on the whole reply": [by_math_verify(gold, reply) for gold, reply, _ in rows],
    }
    print(f"{len(rows)} replies, {sum(right for *_, right in rows)} right\n")
    print("| scorer | agrees | right ones refused | wrong ones taken |\n|---|---|---|---|")
    agreed = {}
    for name, verdicts in said.items():
        refused = sum(right and not verdict for (*_, right), verdict in zip(rows, verdicts, strict=True))
        taken = sum(verdict and not right for (*_, right), verdict in zip(rows, verdicts, strict=True))
        agreed[name] = 1 - (refused + taken) / len(rows)
        print(f"| {name} | {agreed[name]:.3f} | {refused} | {taken} |")
    return int(agreed["ours"] < max(agreed.values()))


if __name__ == "__main__":
    sys.exit(main())
