"""Compare the scorers of MMLU, MMLU-Pro, GPQA, AIME and BIG-Bench Hard with lm-evaluation-harness's and with the truth, 1,000 replies each.

    python -m venv peers && peers/bin/pip install lm_eval==0.4.13 jieba fuzzywuzzy rouge
    python benchmarks/hf_harness.py --peers peers/bin/python

The replies give our sample rows' answers, or wrong ones, in the forms of `tracebench_hfqa.forms`: their truth is known by construction,
and they are the forms that this suite's scorer was written for. Exits with 1 where the harness agrees with the truth more often.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from hf_agreement import NEWER, OURS, PEERS, asked, table

from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.forms import forms, gold_of, hedges, rival_of
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES, read_cases

EACH = 1_000
Reply = tuple[Entry, Case, dict[str, Any]]


def replies(entry: Entry) -> list[Reply]:
    """Return so many replies to the sample rows of a data set, drawn from all forms of all rows."""
    last = entry.dataset_id.split("/")[-1].lower()
    found: list[Reply] = []
    for path in sorted([*SAMPLES.glob(f"{last}.jsonl"), *SAMPLES.glob(f"{last}.*.jsonl")]):
        subtask = path.name.removeprefix(last).removesuffix(".jsonl").strip(".")
        name = f"{entry.id}/{subtask}" if subtask else entry.id
        for case in read_cases(entry, "any", read_file(path), where=path.name):
            gold, rival = gold_of(entry.family, case), rival_of(entry.family, case)
            said = [(form, True) for form in forms(entry.family, gold, rival)]
            said += [(form, False) for form in [*forms(entry.family, rival, gold), *hedges(gold, rival)]]
            for form, right in said:
                row = {"dataset": name, "reply": form.reply, "right": right}
                found.append((entry, case, row | {"asked": asked(row, case, entry) | {"question": case.question}}))
    random.Random(0).shuffle(found)
    return found[:EACH]


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="a Python with lm_eval")
    told = parser.parse_args()
    held = [reply for entry in shipped_entries() if entry.id in NEWER for reply in replies(entry)]
    rows = [row for *_, row in held]
    done = subprocess.run(
        [told.peers, str(PEERS), str(Path(__file__).parent)],
        input="\n".join(json.dumps(row["asked"]) for row in rows),
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    for (entry, case, row), scores in zip(held, said, strict=True):
        scores[OURS] = find_family(entry.family).score(row["reply"], case).score == 1
    print(f"{len(rows)} replies, {sum(row['right'] for row in rows)} right\n")
    return int(table("data set", [entry.id for entry, *_ in held], rows, said) > 0)


if __name__ == "__main__":
    sys.exit(main())
