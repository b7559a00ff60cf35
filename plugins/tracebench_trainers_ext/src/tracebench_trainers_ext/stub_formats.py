"""How a model that is a script answers the libraries' prompts for a new value. It is no language model."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from tracebench_core.contracts import Propose
from tracebench_core.specs import Message

FENCE = re.compile(r"```[ \w{}]*\n(.*?)\n?```", re.DOTALL)
NAMED = re.compile(r"the parameter `(\w+)` of kind")
"""How our adapters speak of a parameter that has no description."""
PART = re.compile(r"^### PARAMETER (\w+)\n", re.MULTILINE)
"""Begins a parameter's part of a file that holds several."""
FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\]\n", re.MULTILINE)
"""Begins a field of DSPy's prompts and answers."""
CURRENT = ("current_instruction", "basic_instruction", "attempted_instructions")
"""What DSPy calls the instruction that is to be improved."""
ATTEMPT = re.compile(r"«Instruction #\d+: (.*?)»", re.DOTALL)
NEW = ("new_instruction", "proposed_instruction")
THOUGHT = "A rule, not a thought."


def textgrad(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer between `<IMPROVED_VARIABLE>` tags, to one text between `<VARIABLE>` tags."""
    prompt = _prompt(messages)
    if "<IMPROVED_VARIABLE>" not in prompt:
        return None
    shown = re.findall(r"<VARIABLE>(.*?)</VARIABLE>", prompt, flags=re.DOTALL)
    text = shown[-1].strip() if shown else ""
    return f"<IMPROVED_VARIABLE>{_changed(text, _named(prompt, 'variable'), propose)}</IMPROVED_VARIABLE>"


def gepa(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer with a fenced text, to a prompt that shows the current one in its first fence and asks for the new one in such."""
    prompt = _prompt(messages)
    if not re.search(r"within ``` blocks", prompt):
        return None
    shown = re.search(r"```[ \t]*\n(.*?)\n```", prompt, flags=re.DOTALL)
    return f"```\n{_changed(shown[1] if shown else '', _named(prompt, 'text'), propose)}\n```"


def dspy(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer DSPy's optimizers that ask for an instruction, in the form of the adapter that asked; other fields with a plain sentence."""
    asked = messages[0].get("content") if messages else None
    if not isinstance(asked, str) or not asked.startswith("Your input fields are:"):
        return None
    outputs = re.findall(r"^\d+\. `(\w+)`", asked.partition("Your output fields are:")[2], flags=re.MULTILINE)
    if "proposed_instruction" not in outputs and "new_instruction" not in outputs:
        return _fields(dict.fromkeys(outputs, THOUGHT), asked) if outputs else None
    parts = FIELD.split(_prompt(messages[1:]))
    given = dict(zip(parts[1::2], parts[2::2], strict=True))
    shown = next((given[name] for name in CURRENT if name in given), "")
    attempts = ATTEMPT.findall(shown)
    text = (attempts[-1] if attempts else shown.partition("\n\nRespond with ")[0]).strip()
    block = FENCE.fullmatch(text)
    new = _changed(block[1] if block else text, "instruction", propose)
    new = f"```python\n{new}\n```" if block else new
    return _fields({name: new if name in NEW else THOUGHT for name in outputs}, asked)


def adalflow(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer AdalFlow: feedback on a target with a plain sentence, a request for a new value with one."""
    prompt = _prompt(messages)
    described = re.search(r"<START_OF_VARIABLE_DESC>(.*?)<END_OF_VARIABLE_DESC>", prompt, flags=re.DOTALL)
    if described is None:
        return THOUGHT if "<OBJECTIVE_INSTRUCTION>" in prompt and "TARGET VARIABLE" in prompt.upper() else None
    shown = re.search(r"<VARIABLE>(.*?)</VARIABLE>", described[1], flags=re.DOTALL)
    new = _changed(shown[1].strip() if shown else "", _named(described[1], "variable"), propose)
    parts = {"reasoning": THOUGHT, "method": "Rephrase", "proposed_variable": new}
    return "<response>\n" + "\n".join(f"<{name}>{text}</{name}>" for name, text in parts.items()) + "\n</response>"


def evolved(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer OpenEvolve, SkyDiscover and ShinkaEvolve with the whole file, to a prompt that shows one as the current one.

    SkyDiscover shows it last, under its score; ShinkaEvolve first, and reads its answers by tags.
    """
    prompt = _prompt(messages)
    shinka = "<CODE>" in prompt and "# Current program" in prompt
    if not shinka and "Your rewritten" not in prompt:
        return None
    begin = prompt.rfind("# Current program") if shinka else 0
    blocks = [b for b in FENCE.findall(prompt[begin:]) if "Your rewritten" not in b]
    if not blocks:
        return None
    shown = blocks[0] if shinka else blocks[-1]
    new = _file(shown, propose)
    fenced = f"```{'python' if shinka else ''}\n{new}\n```"
    if not shinka:
        return fenced
    return f"<NAME>\na_rule\n</NAME>\n\n<DESCRIPTION>\n{THOUGHT}\n</DESCRIPTION>\n\n<CODE>\n{fenced}\n</CODE>"


def _file(shown: str, propose: Propose) -> str:
    """Return a file with new values: of each of its parts, or of itself, between the marks of what may evolve."""
    parts = PART.split(shown)
    if len(parts) > 1:
        values = {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        new = {**values, **propose(values)}
        return "\n".join(f"### PARAMETER {name}\n{text}" for name, text in new.items())
    marked = re.fullmatch(r"(# EVOLVE-BLOCK-START\n)(.*?)(\n# EVOLVE-BLOCK-END\n*)", shown, flags=re.DOTALL)
    if marked:
        return f"{marked[1]}{_changed(marked[2], 'file', propose)}{marked[3]}"
    return _changed(shown, "file", propose)


def _fields(values: dict[str, str], asked: str) -> str:
    """Return DSPy's output fields as the adapter that asked wants them."""
    if "Outputs will be a JSON object" in asked:
        return json.dumps(values)
    return "".join(f"[[ ## {name} ## ]]\n{text}\n\n" for name, text in values.items()) + "[[ ## completed ## ]]"


def _changed(text: str, name: str, propose: Propose) -> str:
    return str(propose({name: text}).get(name, text))


def _named(prompt: str, otherwise: str) -> str:
    """Return the name of the one parameter that is asked for, as far as the prompt tells it."""
    found = {*NAMED.findall(prompt)}
    return found.pop() if len(found) == 1 else otherwise


def _prompt(messages: Sequence[Message]) -> str:
    return "\n\n".join(text for message in messages if isinstance(text := message.get("content"), str))
