"""Every gold answer of the sample rows in every form, and wrong answers in the same forms."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.whole import HEAVY, one_in

from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.families.gsm8k import stated
from tracebench_hfqa.forms import OF_WORDS, SPELLINGS, forms, gold_of, hedges, rival_of
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES, read_cases

ENTRIES = [e for e in shipped_entries() if e.family in SPELLINGS and e.id not in {"bbeh_eight", "bbeh_horizon"}]
LEAST = 60
ROWS = 3
"""Rows of a file that are tried in every form."""


def cases(entry: Entry) -> Iterator[Case]:
    name = entry.dataset_id.split("/")[-1].lower()
    for path in sorted([*SAMPLES.glob(f"{name}.jsonl"), *SAMPLES.glob(f"{name}.*.jsonl")]):
        yield from list(read_cases(entry, "any", read_file(path), where=str(path)))[: 1 if entry.subtasks else ROWS]


@pytest.mark.parametrize("entry", one_in(3, ENTRIES), ids=[e.id for e in ENTRIES])
def test_an_answer_scores_the_same_in_every_form(entry: Entry) -> None:
    family = find_family(entry.family)
    tried = 0
    for case in cases(entry):
        gold, rival = gold_of(entry.family, case), rival_of(entry.family, case)
        right, wrong = list(forms(entry.family, gold, rival)), list(forms(entry.family, rival, gold))
        assert len({form.reply for form in right}) >= LEAST
        assert {f.name: f.reply for f in right if family.score(f.reply, case).score != 1} == {}
        assert {f.name: f.reply for f in wrong if family.score(f.reply, case).score != 0} == {}
        most = 0.99 if family.metric == "f1" else 0  # F1 gives the part of a hedge that is right
        assert {f.name: f.reply for f in hedges(gold, rival) if family.score(f.reply, case).score > most} == {}
        tried += 1
    assert tried


@pytest.mark.parametrize("family", sorted(SPELLINGS))
def test_every_family_but_mathematics_is_tried_in_the_decorations_of_words(family: str) -> None:
    tried = {form.name for form in forms(family, "Paris", "Rome")}

    assert OF_WORDS
    assert {*OF_WORDS} & tried == (set() if family == "math" else {*OF_WORDS})


@HEAVY
def test_every_family_calibrates_here() -> None:
    tasks = ["hf:strategy_qa", "hf:mbpp", "hf:drop", "hf:bbeh/object_counting", "hf:small/extraction"]
    command = [sys.executable, "-m", "tracebench_engine.cli", "calibrate", *tasks, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert all(f'"{kind}"' in json.dumps(told) for kind in ("gold", "form", "forged", "known"))


@pytest.mark.parametrize("before", "!\"#$%&'()*/:;<=>?@[\\]^_`{|}~,¥₹€£→•\u2013\u2014“”«»\u2018\u2019≈ \t")
def test_what_stands_before_a_number_does_not_change_it(before: str) -> None:
    assert stated(f"Answer: {before}18") == stated(f"{before}18").lstrip(before) or stated(f"{before}18").endswith("18")
    assert stated(f"The total is {before}18.").endswith("18")
