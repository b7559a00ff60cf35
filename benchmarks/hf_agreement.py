"""Compare what the suite's scorers, the authors' scripts and lm-evaluation-harness say of 2,000 replies with the truth.

    python -m venv peers && peers/bin/pip install lm_eval jieba fuzzywuzzy rouge
    python benchmarks/hf_agreement.py --peers peers/bin/python --authors <folder> [--forms]

`hf_replies.jsonl` holds 648 replies of SmolLM2-135M-Instruct to the sample rows, labelled by hand before any scorer saw them; the others
give the sample rows' answers, or wrong ones, in the forms of `tracebench_hfqa.forms`, whose truth is known by construction. The folder
of the authors holds `dataset.py` (GSM8K), `hotpot_evaluate_v1.py`, `answer.py` (MuSiQue), `evaluator.py` (Qasper), `drop_eval.py`
and `evaluate.py` (BBEH), as their repositories have them. By each scorer a reply counts as right when it scores 1.

Exits with 1 where ours agrees less often than another in any data set or form.
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

from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.forms import AFTER, DECORATIONS, REMARKS, SPELLINGS, forms, gold_of, hedges, rival_of
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES, read_cases

HERE = Path(__file__).parent
PEERS, REPLIES = HERE / "hf_peers.py", HERE / "hf_replies.jsonl"
IN_ALL = 2_000
NOT_TWICE = {"bbeh_eight", "bbeh_horizon"}
NEWER = {"mmlu", "mmlu_pro", "gpqa", "aime24", "aime25", "bbh"}
"""Data sets without replies by a model: `hf_harness.py` has a table of them, and `hf_math.py` of mathematics."""
OURS = "ours"


def cases_by_entry() -> dict[str, tuple[Entry, list[Case]]]:
    """Return the sample rows of every data set whose replies are read."""
    found = {}
    for entry in shipped_entries():
        if entry.family in SPELLINGS and entry.id not in NOT_TWICE | NEWER | {"math500"}:
            files = sorted(SAMPLES.glob(f"{entry.dataset_id.split('/')[-1].lower()}*.jsonl"))
            found[entry.id] = (entry, [c for f in files for c in read_cases(entry, "any", read_file(f), where=str(f))])
    return found


def kind_of(name: str, family: str) -> str:
    """Return the class of a form that a table shows."""
    first, _, second = name.partition(", ")
    beside = second in REMARKS or second.startswith("rival")
    classes = {
        "two answers": name.startswith("hedge"),
        "reason or rival beside it": beside,
        "a sentence after it": second in AFTER and not beside,
        "tags, JSON": first.startswith(("JSON", "tags")),
        "bold, quotes, boxes": {first, second} & {*DECORATIONS, "bold"},
        "currency, unit, spelling": {first, second} & {*SPELLINGS[family]},
    }
    return next((kind for kind, held in classes.items() if held), "marked or alone")


def constructed(cases: dict[str, tuple[Entry, list[Case]]]) -> Iterator[dict[str, Any]]:
    """Yield replies whose truth is known: right ones and wrong ones in every form, a row of the data set for each in turn."""
    for name, (entry, rows) in cases.items():
        family = entry.family
        for wrong in (False, True):
            for at in range(len(list(forms(family, "1", "2")))):
                row = at % len(rows)
                gold, rival = gold_of(family, rows[row]), rival_of(family, rows[row])
                form = list(forms(family, rival if wrong else gold, gold if wrong else rival))[at]
                yield {
                    "dataset": name,
                    "row": row,
                    "form": kind_of(form.name, family),
                    "reply": form.reply,
                    "right": not wrong,
                }
        for row, case in enumerate(rows[:4]):
            for form in hedges(gold_of(family, case), rival_of(family, case)):
                yield {
                    "dataset": name,
                    "row": row,
                    "form": kind_of(form.name, family),
                    "reply": form.reply,
                    "right": False,
                }


def written() -> list[dict[str, Any]]:
    """Return the replies of the model, with the labels given by hand."""
    rows = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    return [{**row, "form": f"model, {row['asked']}"} for row in rows]


def asked(row: dict[str, Any], case: Case, entry: Entry) -> dict[str, Any]:
    """Return a reply with all that another scorer needs."""
    lists = case.gold if entry.family == "drop" else []
    golds = (
        [str(g[0] if entry.family == "qasper" else g) for g in case.gold]
        if isinstance(case.gold, list)
        else [str(case.gold)]
    )
    golds = [gold_of(entry.family, case)] if entry.family in {"drop", "strategy_qa"} else golds
    labels = [o.label for o in case.options]
    letter = chr(ord("A") + labels.index(case.gold)) if labels else ""
    told = {"dataset": row["dataset"], "reply": row["reply"], "golds": golds, "lists": lists}
    return {**told, "letter": letter, "texts": [o.text for o in case.options]}


def main() -> int:
    """Print the tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="a Python with lm_eval")
    parser.add_argument("--authors", required=True, help="folder of the authors' scripts")
    parser.add_argument("--forms", action="store_true", help="a table of data set and form, not only of each")
    told = parser.parse_args()
    cases = cases_by_entry()
    model = written()
    others = list(constructed(cases))
    random.Random(0).shuffle(others)
    rows = [*model, *others[: IN_ALL - len(model)]]
    held = [asked(row, cases[row["dataset"]][1][row["row"]], cases[row["dataset"]][0]) for row in rows]
    done = subprocess.run(
        [told.peers, str(PEERS), told.authors],
        input="\n".join(map(json.dumps, held)),
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    for row, scores in zip(rows, said, strict=True):
        entry, of = cases[row["dataset"]]
        scores[OURS] = find_family(entry.family).score(row["reply"], of[row["row"]]).score == 1
    right = sum(row["right"] for row in rows)
    by_model = f"{len(model)} by a model and labelled by hand, {sum(row['right'] for row in model)} of them right"
    print(f"{len(rows)} replies, {right} right; {by_model}\n")
    below = table("data set", [r["dataset"] for r in rows], rows, said)
    below += table("form", [r["form"] for r in rows], rows, said, alone=True)
    if told.forms:
        below += table("data set and form", [f"{r['dataset']}: {r['form']}" for r in rows], rows, said)
    return int(below > 0)


def table(
    title: str, groups: list[str], rows: list[dict[str, Any]], said: list[dict[str, bool]], *, alone: bool = False
) -> int:
    """Print, by group and scorer, agreement, right replies refused and wrong ones taken; return how often ours is below another.

    `alone`: over several data sets, where each has scorers of its own, the others' best by data set stands for them.
    """
    print(f"| {title} | replies | scorer | agrees | right ones refused | wrong ones taken |\n|---|---|---|---|---|---|")
    below = 0
    for group in sorted(set(groups)):
        at = [i for i, g in enumerate(groups) if g == group]
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for i in at:
            scores = said[i]
            for name, score in scores.items():
                shown = name if name == OURS or not alone else name.split()[0]
                if alone and shown == "lm_eval" and name != best_of(rows[i]["dataset"], rows, said):
                    continue
                counts[shown][0] += 1
                counts[shown][1] += rows[i]["right"] and not score
                counts[shown][2] += score and not rows[i]["right"]
        mine = 1 - (counts[OURS][1] + counts[OURS][2]) / counts[OURS][0]
        for name, (count, refused, taken) in sorted(counts.items(), key=lambda item: item[0] != OURS):
            agrees = 1 - (refused + taken) / count
            same = [i for i in at if any(n == name or (alone and n.startswith(name)) for n in said[i])]
            fair = 1 - sum(said[i][OURS] != rows[i]["right"] for i in same) / len(same)
            worse = name != OURS and fair < agrees - 1e-12
            below += worse
            print(f"| {group} | {count} | {name} | {agrees:.3f}{' > ours' if worse else ''} | {refused} | {taken} |")
        assert mine <= 1
    print()
    return below


_BEST: dict[str, str] = {}


def best_of(dataset: str, rows: list[dict[str, Any]], said: list[dict[str, bool]]) -> str:
    """Return the harness's scorer that agrees most often on a data set."""
    if dataset not in _BEST:
        hits: dict[str, int] = defaultdict(int)
        for row, scores in zip(rows, said, strict=True):
            if row["dataset"] == dataset:
                for name, score in scores.items():
                    hits[name] += name.startswith("lm_eval") and score == row["right"]
        _BEST[dataset] = max(hits, key=lambda name: hits[name])
    return _BEST[dataset]


if __name__ == "__main__":
    sys.exit(main())
