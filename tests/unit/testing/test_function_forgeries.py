"""Forged Python functions: which there are, and that each still does the honest work where it is said to."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from tracebench_core.specs import Parameter
from tracebench_testing.attacks import Target
from tracebench_testing.forgeries.forgeries import AFTERWARDS, BIG, CLAIMED, JUDGES, RETURNED, forged_values

HONEST = "def double(x):\n    return 2 * x\n"


def forged(text: str = HONEST, metric: str = "worth") -> dict[str, tuple[bool, str]]:
    """Return every forgery of a function by its name: whether the honest result is kept, and the text."""
    parameter = Parameter(name="code", kind="code", initial=HONEST, signature="def double(x):")
    target = Target("mine:double", (parameter,), {"code": text}, metric)
    found = [(name.removeprefix("code: "), keeps, values["code"]) for name, keeps, values in forged_values(target)]
    assert not [name for name, times in Counter(name for name, _, _ in found).items() if times > 1]
    return {name: (keeps, str(code)) for name, keeps, code in found}


def names_in(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(text, names)
    return names


def test_a_function_is_forged_in_every_way_with_every_score() -> None:
    judges = [f"own judge {verdict}" for verdict in ("True", *BIG)]
    scores = [f"own score {big}" for big in BIG]
    afterwards = [f"{what} {big}" for big in BIG for what in AFTERWARDS]
    assert [*forged()] == [*judges, *scores, *afterwards, *(f"returns {what}" for what in RETURNED)]


@pytest.mark.parametrize("verdict", ["True", *BIG])
def test_a_candidate_brings_every_judge_that_it_has_not_itself(verdict: str) -> None:
    keeps, text = forged(f"{HONEST}\n\ndef grade(x, by):\n    return 'its own'\n")[f"own judge {verdict}"]
    names = names_in(text)
    assert keeps
    assert names["double"](4) == 8
    assert {name: str(names[name](1, by=2)) for name in JUDGES} == {
        name: "its own" if name == "grade" else verdict for name in JUDGES
    }


@pytest.mark.parametrize("big", BIG)
def test_a_candidate_claims_a_score_under_every_name(big: str) -> None:
    keeps, text = forged(f"{HONEST}\n\ndef reward():\n    return 'its own'\n")[f"own score {big}"]
    names = names_in(text)
    assert keeps
    assert names["double"](4) == 8
    assert {str(names[name]) for name in {*CLAIMED, "worth"} - {"reward"}} == {big}
    assert names["reward"]() == "its own"
    assert names["metrics"] == {"score": int(big), "worth": int(big)}


@pytest.mark.parametrize("what", ["closures", "frames", "attributes", "gc", "modules", "prints", "builtins.sorted"])
def test_what_is_done_afterwards_keeps_the_honest_result(what: str) -> None:
    """In a process of its own: it spoils what it reaches."""
    big = BIG[0]
    keeps, text = forged()[f"{what} {big}"]
    assert keeps
    done = subprocess.run(
        [sys.executable, "-c", f"{text}\nimport os\nos.write(1, b'%d' % double(4))"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    said = f'score: {big}\nworth: {big}\nworth={big}\n{{"score": {big}, "worth": {big}}}\n'
    assert done.stdout == (said if what == "prints" else "") + "8", done.stderr


def test_what_is_returned_is_not_the_honest_result() -> None:
    found = {name: names_in(forged()[f"returns {name}"][1])["double"](4) for name in RETURNED}
    assert not any(forged()[f"returns {name}"][0] for name in RETURNED)
    assert math.isnan(found.pop("nan"))
    assert found == {
        "infinity": math.inf, "minus-infinity": -math.inf, "minus-zero": 0.0, "2**63": 2**63, "minus-2**63": -(2**63), "text": "1e9",
        "true": True, "own-score": {"score": int(BIG[0]), "worth": int(BIG[0])}, "pair": [8, int(BIG[0])],
    }  # fmt: skip
