"""What each setting of the other libraries' trainers changes: a run with it beside a run without it.

    python benchmarks/knobs.py [TRAINER …]     those whose libraries are here, or these

Each trainer runs twice without the setting, on a task and with a model that answers the same to the same prompts, and once with
each setting. What differs from a run without it, and does not differ between the two, is what the setting did: the requests that the
model server saw (texts, temperatures, limits), the candidates in their order, the evaluations, or the words of the job's log.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plugins.tracebench_trainers_ext.tests.acting import KNOBS, Knob
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, is_here, run, said

from tracebench_testing.fake_openai import FakeOpenAI


class Seen(NamedTuple):
    """What one run showed to the outside."""

    requests: tuple[str, ...]
    candidates: tuple[str, ...]
    evaluations: int


PASSING = re.compile(r"\b\d{4}-\d\d-\d\d[T ][\d:.]+\b|\b\d+\.\d+ ?s(?:ec\w*)?\b|/[^\s\"']*/")
"""Of a prompt: times and folders, which differ from run to run."""


def look(knob: Knob, params: Mapping[str, Any], folder: Path) -> Seen:
    """Run a knob's trainer with these settings.

    Raises:
        SystemExit: when its job did not end well.
    """
    with FakeOpenAI(reply=knob.model()) as server:
        trainer = {"id": knob.trainer, "params": dict(params)}
        results, run_dir = run(folder, server, [trainer], tasks=[knob.task], budget=dict(knob.budget))
        requests = [dict(request) for request in server.log.requests]
    result = results[knob.trainer]
    if result.status != "ok":
        raise SystemExit(f"{knob.trainer} {dict(params)}: {result.error}\n{said(run_dir, result.job_id)[-2000:]}")
    asked = [json.dumps(request, sort_keys=True) for request in requests]
    found = [json.dumps(candidate["values"], sort_keys=True) for candidate in candidates(run_dir, result.job_id)]
    return Seen(tuple(PASSING.sub("", one) for one in asked), tuple(found), result.used.evaluations)


def difference(plain: Seen, other: Seen) -> dict[str, str]:
    """Return in what two runs differ, each in words."""
    words = {}
    if sorted(plain.requests) != sorted(other.requests):
        if len(plain.requests) != len(other.requests):
            words["requests"] = f"{len(plain.requests)} → {len(other.requests)} calls"
        else:
            new = len([1 for one in other.requests if one not in plain.requests])
            words["requests"] = f"{new} of {len(other.requests)} requests"
    if sorted(plain.candidates) != sorted(other.candidates):
        words["candidates"] = f"{len(plain.candidates)} → {len(other.candidates)} candidates"
        if len(plain.candidates) == len(other.candidates):
            new = len([1 for one in other.candidates if one not in plain.candidates])
            words["candidates"] = f"{new} of {len(other.candidates)} candidates"
    elif plain.candidates != other.candidates:
        words["candidates"] = "the order of candidates"
    if plain.evaluations != other.evaluations:
        words["evaluations"] = f"{plain.evaluations} → {other.evaluations} evaluations"
    return words


def acted(knob: Knob, pair: tuple[Seen, Seen], folder: Path) -> str:
    """Return what a setting changed that chance did not, in words; nothing where it changed nothing."""
    chance = difference(*pair)
    found = difference(pair[0], look(knob, {**knob.beside, **knob.params}, folder))
    return ", ".join(words for kind, words in found.items() if kind not in chance)


def main() -> int:
    """Print a table, a row as soon as it is there; exit code 1 where a setting did not act."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainers", nargs="*", metavar="TRAINER")
    asked: Sequence[str] = parser.parse_args().trainers
    os.environ["FAKE_KEY"] = KEY
    pairs: dict[str, tuple[Seen, Seen]] = {}
    code = 0
    for knob in KNOBS:
        if not (knob.trainer in asked or (not asked and is_here(knob.trainer))):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            base = knob.base()
            if base not in pairs:
                pairs[base] = (
                    look(knob, knob.beside, Path(scratch, "plain")),
                    look(knob, knob.beside, Path(scratch, "again")),
                )
            try:
                words = acted(knob, pairs[base], Path(scratch, "with"))
            except SystemExit as failed:
                print(failed, file=sys.stderr)
                words = ""
        code |= not words
        print(f"| `{knob.trainer}` | `{knob.shown()}` | {words or 'NOTHING'} |", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
