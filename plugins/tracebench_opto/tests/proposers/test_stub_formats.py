"""The stub model's answers to Trace's optimizers: well-formed in every format, of the shown types, and valid Python."""

from __future__ import annotations

import ast
import json
import random
import re
from typing import Any

import pytest

from tracebench_core.proposing.mutation import mutate
from tracebench_opto.proposers import stub_formats

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

FORMATS = [stub_formats.improved_variable, stub_formats.tagged_variables, stub_formats.suggestion]


def answers(prompt: str, *, is_empty: bool = False, count: int = 30) -> list[str]:
    """Return the answers of many seeds."""

    def answer(seed: int) -> str:
        rng = random.Random(seed)

        def propose(values: Any, hints: Any = None, /) -> dict[str, Any]:
            chosen = [] if is_empty else [name for name in values if len(values) == 1 or rng.random() < 2 / 3]
            return {name: mutate(values[name], rng, hint=(hints or {}).get(name)) for name in chosen}

        found = [text for f in FORMATS if (text := f([{"role": "user", "content": prompt}], rng, propose)) is not None]
        return found[0]

    return [answer(seed) for seed in range(count)]


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
        assert found[1]


@pytest.mark.parametrize("prompt", [OPTOPRIME, OPRO, XML, TEXTGRAD])
def test_the_empty_stub_is_well_formed_and_changes_nothing(prompt: str) -> None:
    for text in answers(prompt, is_empty=True, count=2):
        if text.startswith("{"):
            assert json.loads(text)["suggestion"] == {}
        else:
            assert re.fullmatch(
                r"<reasoning>.*</reasoning>|<IMPROVED_VARIABLE>Think. Answer.</IMPROVED_VARIABLE>", text, re.S
            )


@pytest.mark.parametrize("recognise", FORMATS)
def test_a_prompt_of_another_format_is_left_to_others(recognise: Any) -> None:
    assert (
        recognise([{"role": "user", "content": "Improve this."}], random.Random(0), lambda values, _=None: {}) is None
    )
