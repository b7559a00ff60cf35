"""How scripts answer the libraries' prompts: each has the form that its library writes, and each answer is read as that reads it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tracebench_trainers_ext import stub_formats

LOUD = "Speak up."


def propose(values: Mapping[str, Any], _hints: object = None, /) -> dict[str, Any]:
    """Put a word before each value."""
    return {name: f"new {name}: {value}" for name, value in values.items()}


def asked(name: str, *contents: str) -> str | None:
    roles = ("system", "user") if len(contents) == 2 else ("user",)
    messages = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=True)]
    return getattr(stub_formats, name)(messages, random.Random(0), propose)  # type: ignore[no-any-return]


def signature(inputs: list[str], outputs: list[str], *, as_json: bool) -> str:
    """Return what DSPy's adapters say of a signature."""

    def listed(names: list[str]) -> str:
        return "\n".join(f"{i}. `{name}` (str): what it is" for i, name in enumerate(names, 1))

    form = "Outputs will be a JSON object with the following fields." if as_json else "[[ ## completed ## ]]"
    return (
        f"Your input fields are:\n{listed(inputs)}\nYour output fields are:\n{listed(outputs)}\nAll interactions {form}"
    )


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("given", "outputs", "shown"),
    [
        ("basic_instruction", ["proposed_instruction", "proposed_prefix_for_output_field"], LOUD),
        ("current_instruction", ["new_instruction"], LOUD),
        (
            "attempted_instructions",
            ["proposed_instruction", "proposed_prefix_for_output_field"],
            f"[1] «Instruction #1: Be dull.»\n[2] «Prefix #1: A:»\n[3] «Instruction #2: {LOUD}»\n[4] «Prefix #2: A:»",
        ),
    ],
)
def test_dspy_gets_its_fields_in_the_form_of_the_adapter_that_asked(
    given: str, outputs: list[str], shown: str, *, as_json: bool
) -> None:
    user = f"[[ ## {given} ## ]]\n{shown}\n\nRespond with the corresponding output fields."
    said = asked("dspy", signature([given], outputs, as_json=as_json), user)
    assert said is not None
    if as_json:
        found = json.loads(said)
    else:
        assert said.endswith("[[ ## completed ## ]]")
        parts = re.split(r"^\[\[ ## (\w+) ## \]\]\n?", said, flags=re.MULTILINE)
        found = {name: text.strip() for name, text in zip(parts[1:-2:2], parts[2:-2:2], strict=True)}
    assert [*found] == outputs
    assert found[outputs[0]] == f"new instruction: {LOUD}"


def test_dspys_code_stays_between_fences_and_what_asks_for_no_instruction_gets_a_sentence() -> None:
    code = "def f(x):\n    return x"
    user = (
        f"[[ ## current_instruction ## ]]\n```python\n{code}\n```\n\n[[ ## examples_with_feedback ## ]]\n[]\n\nRespond."
    )
    said = asked("dspy", signature(["current_instruction"], ["new_instruction"], as_json=True), user)
    assert json.loads(said or "") == {"new_instruction": f"```python\nnew instruction: {code}\n```"}
    observed = asked(
        "dspy", signature(["examples"], ["observations"], as_json=True), "[[ ## examples ## ]]\n[]\n\nRespond."
    )
    assert json.loads(observed or "") == {"observations": stub_formats.THOUGHT}
    assert asked("dspy", "You are helpful.", "Hello") is None


@pytest.mark.parametrize(("role", "name"), [("the parameter `gamma` of kind number", "gamma"), ("a mood", "variable")])
def test_adalflow_gets_xml_with_a_new_value_and_feedback_is_a_sentence(role: str, name: str) -> None:
    user = (
        f"<START_OF_VARIABLE_DESC>\n<NAME> value_0 </NAME>\n<ROLE> {role} </ROLE>\n<VARIABLE>{LOUD}</VARIABLE>\n<END_OF_VARIABLE_DESC>"
        "<VARIABLE> not this </VARIABLE>"
    )
    said = asked("adalflow", "You are an excellent prompt engineer.", user)
    assert ET.fromstring(said or "").findtext("proposed_variable") == f"new {name}: {LOUD}"
    feedback = asked("adalflow", "TARGET VARIABLE:\n<VARIABLE> x </VARIABLE><OBJECTIVE_INSTRUCTION>…")
    assert feedback == stub_formats.THOUGHT
    assert asked("adalflow", "Hello") is None


def test_textgrad_and_gepa_know_which_parameter_where_the_prompt_says_it() -> None:
    prompt = "<VARIABLE> 0.5 </VARIABLE> Improve it (the parameter `beta` of kind number). <IMPROVED_VARIABLE>…</IMPROVED_VARIABLE>"
    assert asked("textgrad", prompt) == "<IMPROVED_VARIABLE>new beta: 0.5</IMPROVED_VARIABLE>"
    prompt = (
        "The current value of the parameter `beta` of kind number:\n```\n0.5\n```\nGive the new one within ``` blocks."
    )
    assert asked("gepa", prompt) == "```\nnew beta: 0.5\n```"
    assert asked("gepa", "Two, the parameter `a` of kind number, the parameter `b` of kind number:\n```\n0\n```\nwithin ``` blocks") == (
        "```\nnew text: 0\n```"
    )  # fmt: skip


FEEDBACK = "### feedback\n```\nWrong.\n```\n"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("def f(x):\n    return x\n", "new file: def f(x):\n    return x\n"),
        (
            "### PARAMETER alpha\n0.0\n### PARAMETER beta\n1.5\n",
            "### PARAMETER alpha\nnew alpha: 0.0\n### PARAMETER beta\nnew beta: 1.5",
        ),
    ],
)
def test_files_that_evolve_are_the_last_ones_shown_and_come_back_whole(shown: str, expected: str) -> None:
    prompt = (
        f"{FEEDBACK}## Top Performing\n```text\nan older one\n```\n# Current Program\n```text\n{shown}\n```\n"
        "# Task\nRewrite.\n```python\n# Your rewritten program here\n```"
    )
    assert asked("evolved", prompt) == f"```\n{expected}\n```"
    assert asked("evolved", f"Think of three ideas.\n```text\n{shown}\n```") is None


def test_shinka_keeps_its_marks_and_its_tags() -> None:
    system = "You MUST respond…\n<CODE>\n```{language}\n# The new rewritten program here.\n```\n</CODE>"
    user = (
        "Here are inspirations:\n```python\n# EVOLVE-BLOCK-START\nan older one\n# EVOLVE-BLOCK-END\n```\n# Current program\n\n"
        f"```python\n# EVOLVE-BLOCK-START\ny = 1\n# EVOLVE-BLOCK-END\n\n```\n{FEEDBACK}"
    )
    said = asked("evolved", system, user) or ""
    assert re.search(r"<NAME>\s*\w+\s*</NAME>\s*<DESCRIPTION>.+</DESCRIPTION>", said, flags=re.DOTALL)
    found = re.search(r"<CODE>\s*```python\n(.*?)\n```\s*</CODE>", said, flags=re.DOTALL)
    assert found
    assert found[1].strip() == "# EVOLVE-BLOCK-START\nnew file: y = 1\n# EVOLVE-BLOCK-END"
