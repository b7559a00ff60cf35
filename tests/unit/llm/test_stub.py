"""The stub model: well-formed in every format, deterministic, typed, and always valid Python."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.ids import content_hash
from tracebench_core.proposing.answer_format import ANSWER_FORMAT, render_values, shown_values
from tracebench_core.proposing.mutation import mutate
from tracebench_core.specs import ModelIdentity, Role
from tracebench_gateway.exchange import ChatRequest
from tracebench_gateway.stub.model import StubMode, answer

CODE = """def score(item, bins=10):
    \"\"\"Weigh 3 things.\"\"\"
    return -2.5 * item + 0.1 ** bins - 7"""


def request(prompt: str, *, seed: int = 0, role: Role = "optimizer", occurrence: int = 0, **hints: Any) -> ChatRequest:
    """Return a request with one user message."""
    return ChatRequest(
        job_id="job",
        seed=seed,
        role=role,
        identity=ModelIdentity(provider="stub", model="stub"),
        messages=[{"role": "user", "content": prompt}],
        sampling={},
        digest=content_hash(prompt.encode()),
        occurrence=occurrence,
        hints=hints,
    )


def answers(prompt: str, *, mode: StubMode = "mutate", count: int = 30, **hints: Any) -> list[str]:
    """Return the answers of many seeds."""
    return [answer(request(prompt, seed=seed, **hints), mode=mode) for seed in range(count)]


def test_the_same_seed_role_request_and_turn_give_the_same_answer_and_any_other_another() -> None:
    prompt = render_values({"x": 2.0})
    first = answer(request(prompt), mode="mutate")
    assert answer(request(prompt), mode="mutate") == first
    assert answer(request(prompt, seed=1), mode="mutate") != first
    assert answer(request(prompt, occurrence=1), mode="mutate") != first


def test_our_own_format_and_its_choices_and_bounds() -> None:
    prompt = f"{ANSWER_FORMAT}\n{render_values({'x': 1.0, 'c': 'a'})}"
    hints = [{"name": "x", "minimum": 0.9, "maximum": 1.1}, {"name": "c", "choices": ["a", "b"]}]
    proposals = [json.loads(text)["values"] for text in answers(prompt, parameters=hints)]
    assert all(0.9 <= values["x"] <= 1.1 for values in proposals if "x" in values)
    assert {values["c"] for values in proposals if "c" in values} == {"b"}
    assert all(proposals)


def test_fenced_code_comes_back_fenced_and_changed() -> None:
    for text in answers(f"Improve this:\n```python\n{CODE}\n```\n"):
        found = re.fullmatch(r"```python\n(.*)\n```", text, re.S)
        assert found
        assert found[1] != CODE
        assert ast.parse(found[1])


def test_the_empty_stub_is_well_formed_and_changes_nothing() -> None:
    for text in answers(render_values({"x": 1}), mode="empty", count=2):
        assert json.loads(text)["values"] == {}


def test_a_plugins_format_answers_its_roles_prompts_before_fenced_code_and_after_our_own() -> None:
    def shout(messages: Any, _rng: Any, propose: Any, /) -> str | None:
        text = messages[0]["content"]
        return f"SHOUT {propose({'x': 1.5}, {'x': {'minimum': 1.4, 'maximum': 1.6}})}" if "shout" in text else None

    def asked(prompt: str, *, role: Role = "optimizer", mode: StubMode = "mutate") -> str:
        return answer(request(prompt, role=role), mode=mode, formats=[("optimizer", shout)])

    told = asked(f"shout\n```python\n{CODE}\n```")
    assert 1.4 <= ast.literal_eval(told.removeprefix("SHOUT "))["x"] <= 1.6
    assert asked(f"shout\n```python\n{CODE}\n```") == told
    assert asked("shout", mode="empty") == "SHOUT {}"
    assert "SHOUT" not in asked("shout", role="agent")
    assert "SHOUT" not in asked(f"shout\n{render_values({'x': 1})}")
    assert asked(f"whisper\n```python\n{CODE}\n```").startswith("```python")


def test_agents_answer_with_the_prompts_own_words_whatever_it_looks_like() -> None:
    prompt = f"Improve this:\n```python\n{CODE}\n```"
    text = answer(request(prompt, role="agent"), mode="mutate")
    assert set(text.split()) <= set(prompt.split())


@given(seed=st.integers(0, 10**6))
def test_mutated_code_stays_python_keeps_its_signature_and_changes(seed: int) -> None:
    import random

    changed = mutate(CODE, random.Random(seed))
    assert ast.parse(changed)
    assert changed.split("\n")[:2] == CODE.split("\n")[:2]
    assert changed != CODE


Json = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(value=Json, seed=st.integers(0, 1000))
def test_a_mutation_keeps_the_type(value: Any, seed: int) -> None:
    import random

    assert type(mutate(value, random.Random(seed))) is type(value)


@given(values=st.dictionaries(st.text(min_size=1, max_size=10), Json, max_size=3))
def test_shown_values_are_read_back(values: dict[str, Any]) -> None:
    assert shown_values(f"before\n{render_values(values)}\nafter") == values


LADDER = [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_a_shipped_answer_is_followed_by_the_next_better_one_and_by_mutations() -> None:
    prompt = f"{ANSWER_FORMAT}\n{render_values({'x': 2.0, 'y': 0})}"
    given = [json.loads(answer(request(prompt, seed=s), mode="answers", ladder=LADDER))["values"] for s in range(60)]

    climbed = [values for values in given if values == {"x": 3.0}]
    assert 10 <= len(climbed) <= 30
    assert {"x": 1.0} not in given


def test_values_that_no_answer_has_are_followed_by_any_answer_and_the_last_by_mutations_alone() -> None:
    elsewhere, top = (f"{ANSWER_FORMAT}\n{render_values({'x': x})}" for x in (-7.5, 3.0))
    asked = [answer(request(elsewhere, seed=s), mode="answers", ladder=LADDER) for s in range(60)]
    assert {json.loads(text)["values"]["x"] for text in asked} >= {1.0, 2.0, 3.0}
    mutated = [answer(request(top, seed=s), mode="mutate") for s in range(20)]
    moved = [answer(request(top, seed=s), mode="answers", ladder=LADDER) for s in range(20)]
    assert all(json.loads(text)["values"]["x"] not in {1.0, 2.0} for text in moved)
    assert len({*mutated, *moved}) > 20


def test_a_value_shown_under_another_name_is_matched_and_answers_that_do_not_fit_are_left_out() -> None:
    code = "def f(x):\n    return x + 1"
    ladder = [{"program": "def f(x):\n    return 2 * x"}]
    fenced = [answer(request(f"```python\n{code}\n```", seed=s), mode="answers", ladder=ladder) for s in range(30)]
    assert any("return 2 * x" in text for text in fenced)
    prompt = f"{ANSWER_FORMAT}\n{render_values({'n': 5})}"
    numbers = [answer(request(prompt, seed=s), mode="answers", ladder=ladder) for s in range(30)]
    assert all(isinstance(json.loads(text)["values"]["n"], int) for text in numbers)
