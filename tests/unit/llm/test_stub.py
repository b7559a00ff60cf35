"""The stub model: well-formed in every format, deterministic, typed, and always valid Python."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.ids import content_hash
from tracebench_core.llm.answer_format import ANSWER_FORMAT, render_values, shown_values
from tracebench_core.llm.exchange import ChatRequest
from tracebench_core.llm.stub.model import StubMode, answer
from tracebench_core.llm.stub.mutate import mutate
from tracebench_core.specs import ModelIdentity, Role

CODE = """def score(item, bins=10):
    \"\"\"Weigh 3 things.\"\"\"
    return -2.5 * item + 0.1 ** bins - 7"""

OPTOPRIME = """You're tasked to solve a coding/algorithm problem.
{"reasoning": <Your reasoning>, "answer": <Your answer>, "suggestion": {<variable_1>: <suggested_value_1>}}

Now you see problem instance:
================================
#Instruction
You need to change the <value> of the variables in #Variables to improve the output.
#Code
power2 = power(x=x0, y=int5)
#Variables
(float) x0=2.0
(code) __code0:def f(x):
    # Constraints are a comment here
    return x * 3
(str) prompt=Think hard. Then answer.
On two lines.
#Constraints
(float) x0: x in [-10,10]
#Inputs
(int) int5=3
#Feedback
smaller
================================
Your response:"""

OPRO = """Output: {"suggestion": {<variable_1>: <suggested_value_1>}}
Below are some example variables and their feedbacks.
{
    "variables": {"x0": {"value": 1.0}},
    "feedback": "no"
}
{
    "variables": {"x0": 2.0, "y0": {"value": "Say it. Again."}},
    "feedback": "better"
}
Come up with a new variable."""

XML = """Answer as <reasoning>r</reasoning> <variable> <name>variable_1</name> <value>v</value> </variable>
# Variables
<variable name="x0" type="int">
<value>
3
</value>
<constraint>positive</constraint>
</variable>

# Feedback
higher"""

TEXTGRAD = """<ROLE>a prompt</ROLE> The variable is the text within the following span: <VARIABLE> Think. Answer. </VARIABLE>
Send the improved variable in the following format: <IMPROVED_VARIABLE>{the improved variable}</IMPROVED_VARIABLE>"""


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


def test_optoprime_prompts_get_suggestions_of_the_shown_types() -> None:
    suggestions = [json.loads(text)["suggestion"] for text in answers(OPTOPRIME)]
    merged = {name: value for suggestion in suggestions for name, value in suggestion.items()}
    assert merged.keys() == {"x0", "__code0", "prompt"}
    assert all(isinstance(s["x0"], float) and s["x0"] != 2.0 for s in suggestions if "x0" in s)
    codes = [s["__code0"] for s in suggestions if "__code0" in s]
    assert all(ast.parse(code) and code.startswith("def f(x):\n    # Constraints") for code in codes)
    assert not any("#Constraints" in s.get("prompt", "") for s in suggestions)


def test_opro_prompts_get_suggestions_from_the_last_example() -> None:
    suggestions = [json.loads(text)["suggestion"] for text in answers(OPRO)]
    assert {name for suggestion in suggestions for name in suggestion} == {"x0", "y0"}
    assert all(abs(s["x0"] - 2.0) < 40 for s in suggestions if "x0" in s)


def test_tagged_prompts_get_tagged_variables() -> None:
    for text in answers(XML):
        found = re.fullmatch(
            r"<reasoning>.*</reasoning>\n<variable>\n<name>x0</name>\n<value>\n(-?\d+)\n</value>\n</variable>",
            text,
            re.S,
        )
        assert found
        assert int(found[1]) != 3


def test_textgrad_prompts_get_an_improved_variable() -> None:
    for text in answers(TEXTGRAD):
        found = re.fullmatch(r"<IMPROVED_VARIABLE>(.+)</IMPROVED_VARIABLE>", text, re.S)
        assert found
        assert found[1] != "Think. Answer."


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


@pytest.mark.parametrize("prompt", [OPTOPRIME, OPRO, XML, TEXTGRAD, render_values({"x": 1})])
def test_the_empty_stub_is_well_formed_and_changes_nothing(prompt: str) -> None:
    for text in answers(prompt, mode="empty", count=2):
        if text.startswith("{"):
            answered = json.loads(text)
            assert answered.get("values", answered.get("suggestion")) == {}
        else:
            assert re.fullmatch(
                r"<reasoning>.*</reasoning>|<IMPROVED_VARIABLE>Think. Answer.</IMPROVED_VARIABLE>", text, re.S
            )


def test_agents_answer_with_the_prompts_own_words_whatever_it_looks_like() -> None:
    text = answer(request(OPTOPRIME, role="agent"), mode="mutate")
    assert set(text.split()) <= set(OPTOPRIME.split())


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
