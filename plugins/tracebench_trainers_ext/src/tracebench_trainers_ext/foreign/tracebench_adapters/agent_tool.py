"""The tool that a coding agent measures with: `./evaluate [--examples N | --validation]`."""

import argparse
import json
import sys
from pathlib import Path

import tracebench_client

from .folder import HISTORY, read_history, read_texts
from .task import Task, mean

SPENT = 75


def main():
    """Measure the files in this folder, print what was found, and keep it in the history."""
    parser = argparse.ArgumentParser(prog="evaluate", description=__doc__)
    parser.add_argument("--examples", type=int, help="only so many of the training examples")
    parser.add_argument("--validation", action="store_true", help="the held-out examples")
    given = parser.parse_args()
    if given.examples is not None and given.examples < 1:
        parser.error("--examples takes a number from 1 on")
    folder = Path.cwd()
    try:
        task = Task(tracebench_client.connect())
        texts = read_texts(task, folder)
        batch = task.validation if given.validation else task.train[: given.examples]
        parent = last(folder) or "c0"
        task.begin_step()
        found = task.measure(texts, batch, parents=[parent], origin="agent")
        task.end_step()
    except tracebench_client.BudgetExhausted as spent:
        print(f"The budget is spent ({spent}). Stop here; what you found is kept.")
        sys.exit(SPENT)
    score = mean([m.score for m in found])
    row = {
        "score": score,
        "examples": [m.example for m in found],
        "held_out": given.validation,
        "candidate": task.candidate(texts),
        "parent": parent,
        "texts": texts,
    }
    with (folder / HISTORY).open("a") as history:
        history.write(json.dumps(row) + "\n")
    print(f"score: {score:g} on {len(found)} examples")
    for measured in found:
        print(f"- {measured.example}: {measured.score:g} ({measured.status}) {measured.feedback}")


def last(folder):
    """Return the id of the candidate that was measured last, or None."""
    rows = read_history(folder)
    return rows[-1]["candidate"] if rows else None


main()
