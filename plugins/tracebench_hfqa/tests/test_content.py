"""A gain in score split into form and content: from the guide through the job's record to tables, report and picture."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.warm import trace_bench
from tests.whole import one_in

from tracebench_engine.api import load_config, run
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, Option
from tracebench_hfqa.oracle import content
from tracebench_testing.fake_openai import FakeOpenAI

ROWS = [
    json.loads(line)
    for line in files("tracebench_hfqa").joinpath("samples", "gsm8k.jsonl").read_text().splitlines()
    if line.strip()
]
GOLD = {row["question"]: row["answer"].rpartition("####")[2].strip() for row in ROWS}
SIZES = {"program": "instructions", "num_train": 2, "num_validate": 2, "num_test": 4}
TAKES_THE_FIRST = """\
import re

def extract_answer(response, question):
    return "#### " + re.findall("[0-9]+", response + " 0")[0]
"""


@pytest.fixture(autouse=True, scope="module")
def _samples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEBENCH_HF_SOURCE", "sample")
        yield


class Rules:
    """A model that mumbles the right answer to every second question and knows no other; told to SAY, it says these, told to LEARN, all."""

    def __init__(self, *, knows: bool = True, **proposal: str) -> None:
        self.proposal, self.knows = proposal, knows
        self.proposing: list[str] = []

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        text = "\n".join(str(message["content"]) for message in messages)
        asked = [question for question in GOLD if question in text]
        if "<current_values>" in text:
            self.proposing.append(text)
            return json.dumps({"values": self.proposal})
        gold = GOLD[asked[0]]
        known = self.knows and int(gold.replace(",", "")) % 2 == 0
        if "LEARN" in text or ("SAY" in text and known):
            return f"#### {gold}"
        return f"Is it {gold}? Or is it 1234567?" if known else "I do not know."


def trained(tmp_path: Path, rules: Rules, *trainers: str, **options: Any) -> Path:
    with FakeOpenAI(reply=rules) as server:
        document = {
            "runs_dir": str(tmp_path / "runs"),
            "mode": "real",
            "seeds": [1, 2],
            "llm": {
                "model": "openai/rules",
                "base_url": server.base_url,
                "prices": {"openai/rules": {"prompt": 0, "completion": 0}},
            },
            "budget": {"evaluations": 12},
            "tasks": [{"id": "hf:gsm8k", "eval_kwargs": SIZES | options}],
            "trainers": [
                *({"id": each, "optimizer": "Reflective"} for each in trainers or ("BestOfN",)),
                {"id": "NoOp"},
            ],
        }
        (tmp_path / "try.json").write_text(json.dumps(document))
        return Path(run(load_config(tmp_path / "try.json")).run_dir)


@pytest.mark.parametrize(
    ("reply", "held"),
    [
        ("A hard question. I do not know.", ""),
        ("I\u2019m not sure; A model cannot know", ""),
        ("I'm not sure.", ""),
        ("'I'", "I"),
        ("It may be A or I.", "AI"),
        ("(A) it is", "A"),
        ("A: red", "A"),
        ("I is what I take", "I"),
        ("perhaps\nA", "A"),
    ],
)
def test_a_word_of_a_sentence_is_no_option(reply: str, held: str) -> None:
    options = tuple(Option(label, f"text {label}") for label in "ABCDEFGHI")
    for gold in "AI":
        case = Case(question="Which?", gold=gold, options=options)
        assert content(reply, find_family("mcqa"), case) == (gold in held)


@pytest.mark.parametrize("trainer", one_in(3, ["OPRO", "BestOfN", "SequentialRefine"]))
def test_a_prompt_that_only_teaches_has_no_gain_of_form(tmp_path: Path, trainer: str) -> None:
    told = trained(tmp_path, Rules(knows=False, instructions="LEARN what you know."), trainer)
    found = [json.loads(path.read_text()) for path in told.glob("jobs/*/results.json")]
    gains = [(r["gain"]["content"], r["gain"]["form"]) for r in found if r["trainer_id"] == trainer]
    assert gains == [(1, 0), (1, 0)]


@pytest.fixture(scope="module")
def told_to(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Rules]]:
    """Return what trains prompts that begin with a word, once for each word: the run, which is only read, and its model."""

    @cache
    def told(word: str) -> tuple[Path, Rules]:
        rules = Rules(instructions=f"{word} what you know.")
        return trained(tmp_path_factory.mktemp(word), rules), rules

    return told


@pytest.mark.parametrize("word", one_in(2, ["SAY", "LEARN"]))
def test_a_gain_is_split_by_what_the_first_prompt_already_got_out_of_the_model(
    told_to: Callable[[str], tuple[Path, Rules]], word: str
) -> None:
    told, rules = told_to(word)
    found = [json.loads(path.read_text()) for path in sorted(told.glob("jobs/*/results.json"))]
    for result in (r for r in found if r["trainer_id"] == "BestOfN"):
        gain = result["gain"]
        assert gain["split"] == "test"
        assert gain["content"] + gain["form"] == pytest.approx(result["score_test"] - result["score_test_initial"])
        assert gain["form"] > 0
        assert (gain["content"] > 0) == (word == "LEARN")
    assert rules.proposing
    assert not any("content=" in prompt for prompt in rules.proposing)
    board = {row["trainer_id"]: row for row in csv.DictReader((told / "leaderboard.csv").read_text().splitlines())}
    both = [r["gain"] for r in found if r["trainer_id"] == "BestOfN"]
    assert float(board["BestOfN"]["gain_form"]) == pytest.approx(sum(g["form"] for g in both) / len(both))
    assert (float(board["NoOp"]["gain_content"]), float(board["NoOp"]["gain_form"])) == (0, 0)


def test_better_extraction_of_the_same_replies_is_form(tmp_path: Path) -> None:
    """The metric is of what the model said, not of what the program's own code took from it."""
    told = trained(tmp_path, Rules(extract_answer=TAKES_THE_FIRST), program="template")
    gains = [json.loads(p.read_text())["gain"] for p in told.glob("jobs/*/results.json") if "BestOfN" in p.read_text()]
    assert len(gains) == 2
    assert all(gain["form"] > 0 and gain["content"] == 0 for gain in gains)


def test_where_it_is_not_measured_nothing_is_told(tmp_path: Path) -> None:
    told = trained(tmp_path, Rules(instructions="SAY it."), oracle=False)
    board = [*csv.DictReader((told / "leaderboard.csv").read_text().splitlines())]
    assert {row["gain_content"] for row in board} == {""}


def test_tables_report_and_picture_show_the_parts(told_to: Callable[[str], tuple[Path, Rules]], tmp_path: Path) -> None:
    told, _ = told_to("SAY")
    shown = trace_bench("compare", str(told), folder=tmp_path, environ=os.environ).stdout
    header, *lines = [line.split("\t") for line in shown.splitlines() if "\t" in line]
    row = dict(zip(header, next(line for line in lines if line[0].startswith("BestOfN")), strict=False))
    assert float(row["form"]) == pytest.approx(float(row["score"]), abs=0.01)
    assert float(row["content"]) == 0
    pytest.importorskip("altair")
    trace_bench("report", str(told), "-o", "report.html", folder=tmp_path, environ=os.environ)
    page = (tmp_path / "report.html").read_text()
    assert "Form and content" in page
    assert '"part":"content"' in page.replace('": "', '":"')
