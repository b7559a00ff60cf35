"""The forms in which people and models write one answer: bold, tags, JSON, LaTeX, a unit, a sentence after it, a rival turned down.

A scorer is tried on them around every gold answer, and on the same forms around a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tracebench_hfqa.families.family import Case
from tracebench_hfqa.families.numbers import numbers_in, plain
from tracebench_hfqa.families.text import normalise

FRAMES: dict[str, Callable[[str], str]] = {
    "alone": "{}".format,
    "full stop": "{}.".format,
    "Answer:": "Answer: {}".format,
    "bold marker": "**Answer:** {}".format,
    "bold line": "**Answer: {}**".format,
    "my answer": "My answer: {}".format,
    "final answer:": "Final answer: {}".format,
    "the answer is": "The answer is {}.".format,
    "the final answer is:": "The final answer is: {}".format,
    "the correct answer is": "The correct answer is {}.".format,
    "to the question": "The answer to the question is {}.".format,
    "so, in passing": "We read the text with care, so the answer is {}.".format,
    "after prose": "Let us look at what is asked. It can be worked out.\n\nAnswer: {}".format,
    "heading": "### Final Answer:\n{}".format,
    "next line": "Answer:\n\n{}".format,
    "quoted line": "> Answer: {}".format,
    "bullet": "- Answer: {}".format,
    "equals": "Answer = {}".format,
    "tags": "<answer>{}</answer>".format,
    "tags on lines": "<answer>\n{}\n</answer>".format,
    "thought before": "<think>\nIt may be something else.\n</think>\n{}".format,
    "JSON": lambda text: json.dumps({"answer": text}),
    "JSON with reasons": lambda text: json.dumps({"reasoning": "It was worked out.", "final_answer": text}, indent=1),
    "JSON block": lambda text: f"```json\n{json.dumps({'answer': text})}\n```",
}
DECORATIONS: dict[str, Callable[[str], str]] = {
    "bold": "**{}**".format,
    "italics": "*{}*".format,
    "underlined": "__{}__".format,
    "code": "`{}`".format,
    "quotes": '"{}"'.format,
    "typographic quotes": "“{}”".format,
    "single quotes": "\u2018{}\u2019".format,
    "box": r"\boxed{{{}}}".format,
    "box in dollars": r"$\boxed{{{}}}$".format,
    "box in brackets": r"\[ \boxed{{{}}} \]".format,
    "box with text": r"\boxed{{\text{{{}}}}}".format,
    "bold box": r"\boxed{{\textbf{{{}}}}}".format,
}
OF_WORDS = frozenset({"box with text", "bold box"})
"""What nobody puts around an expression in LaTeX."""
AFTER: dict[str, str] = {
    "this answer is correct": " This answer is correct.",
    "confident": " I am confident that the answer is right.",
    "based on": " This answer is based on the given text.",
    "helpful": "\n\nI hope this answer is helpful!",
    "rival denied": " The answer is not {rival}.",
    "rival explained": "\n\nExplanation: {rival} is wrong because nothing speaks for it.",
}
REMARKS: dict[str, str] = {
    "not the rival": ", not {rival}",
    "rival in brackets": " (not {rival})",
    "reason": ", because nothing else fits",
    "since": " since the other answer is wrong",
}
NUMBERS: dict[str, Callable[[str], str]] = {
    "dollars": "${}".format,
    "escaped dollars": r"\${}".format,
    "euros behind": "{}€".format,
    "yen": "¥{}".format,
    "rupees": "₹{}".format,
    "decimals": lambda text: text if "." in text else f"{text}.00",
    "unit": "{} apples".format,
    "per cent": "{}%".format,
    "LaTeX per cent": r"{}\%".format,
    "LaTeX": r"${}$".format,
    "LaTeX brackets": r"\({}\)".format,
    "LaTeX unit": r"{}\text{{ apples}}".format,
    "dollars in a box": r"\boxed{{\${}}}".format,
    "brackets": "[{}]".format,
    "braces": "{{{}}}".format,
    "arrow": "→ {}".format,
    "dash": "\u2013 {}".format,
    "bullet": "• {}".format,
    "about": "~{}".format,
    "quoted dollars": "“${}”".format,
    "equation": "x = {}".format,
    "hashes": "#### {}".format,
    "hashes and dollars": "#### ${}".format,
    "total": "**Total**: {}".format,
    "sentence": "In the end {} of them are left.".format,
}
CHOICES: dict[str, Callable[[str], str]] = {
    "brackets": "({})".format,
    "half a bracket": "{})".format,
    "square": "[{}]".format,
    "option": "Option {}".format,
    "small option": "option ({})".format,
    "I choose": "I choose {}.".format,
    "is correct": "Option {} is correct.".format,
    "bold brackets": "**({})**".format,
}
EXPRESSIONS: dict[str, Callable[[str], str]] = {
    "LaTeX": r"${}$".format,
    "LaTeX brackets": r"\({}\)".format,
    "LaTeX lines": r"\[{}\]".format,
    "display box": r"$$\boxed{{{}}}$$".format,
    "box with dollars inside": r"\boxed{{${}$}}".format,
    "final answer in a box": r"Thus the final answer is $\boxed{{{}}}$. I hope it is correct.".format,
    "working before a box": "First $1+1=2$ is seen, so $7$ is out.\n\nTherefore \\boxed{{{}}}".format,
}
BOOLEANS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "exclaimed": "{}!".format,
    "with a reason": "{}, because nothing speaks against it.".format,
    "dash": "{} \u2014 nothing speaks against it.".format,
}
SHORT: dict[str, Callable[[str], str]] = {
    "lower case": str.lower,
    "article": "the {}".format,
    "exclaimed": "{}!".format,
}
SPELLINGS: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    "gsm8k": NUMBERS,
    "mcqa": CHOICES,
    "strategy_qa": BOOLEANS,
    "hfqa": SHORT,
    "musique": SHORT,
    "qasper": SHORT,
    "drop": {},
    "bbeh": {},
    "math": EXPRESSIONS,
}
"""Families whose replies are read, with the spellings that only their kind of answer has."""
HEDGED = ("{} or {}", "Answer: {} or {}", "The answer is either {} or {}.")


class Form(NamedTuple):
    """One reply, and the name of its form."""

    name: str
    reply: str


def gold_of(family: str, case: Case) -> str:
    """Return the gold answer as a person would write it."""
    if family == "drop":
        return "; ".join(case.gold[0])
    if family == "strategy_qa":
        return "Yes" if case.gold else "No"
    if family == "qasper":
        return str(case.gold[0][0])
    return str(case.gold[0] if isinstance(case.gold, list) else case.gold)


def rival_of(family: str, case: Case) -> str:
    """Return a wrong answer of the same kind that shares no word with any right one."""
    gold = gold_of(family, case)
    if family == "mcqa":
        return next(o.label for o in reversed(case.options) if o.label != case.gold)
    if family in {"strategy_qa", "math"}:
        return r"\frac{17}{19}" if family == "math" else "No" if case.gold else "Yes"
    numbers = list(numbers_in(plain(gold)))
    if family == "gsm8k" or (len(numbers) == 1 and normalise(gold) == normalise(numbers[0].text)):
        return str(int(numbers[0].value) + 7)
    if family == "bbeh" and gold.startswith("("):
        return "(B)" if gold.upper() == "(A)" else "(A)"
    if normalise(gold) in {"yes", "no"}:
        return "no" if normalise(gold) == "yes" else "yes"
    return "Zanzibar" if "zanzibar" not in gold.lower() else "Quito"


def forms(family: str, answer: str, rival: str) -> Iterator[Form]:
    """Yield replies that all give `answer`; `rival` is turned down in some."""
    for frame, framed in FRAMES.items():
        yield Form(frame, framed(answer))
        for after, text in AFTER.items():
            if frame != "alone":  # so that "X This answer is correct." is a sentence
                yield Form(f"{frame}, {after}", framed(answer) + _stop(framed(answer), text) + text.format(rival=rival))
        if not frame.startswith("JSON"):
            yield Form(f"{frame}, bold", framed(f"**{answer}**"))
    for decoration, decorated in DECORATIONS.items():
        if _fits(decoration, family, answer):
            yield Form(decoration, decorated(answer))
            yield Form(f"Answer:, {decoration}", f"Answer: {decorated(answer)}")
            yield Form(f"the answer is, {decoration}", f"The answer is {decorated(answer)}.")
    for remark, text in REMARKS.items():
        yield Form(f"Answer:, {remark}", f"Answer: {answer}{text.format(rival=rival)}")
        yield Form(f"alone, {remark}", f"{answer}{text.format(rival=rival)}.")
    for spelling, spelt in SPELLINGS[family].items():
        yield Form(spelling, spelt(answer))
        if " " not in spelling or spelling in {"escaped dollars", "LaTeX unit", "quoted dollars"}:
            yield Form(f"Answer:, {spelling}", f"Answer: {spelt(answer)}")


def _fits(decoration: str, family: str, answer: str) -> bool:
    """Tell whether anybody writes an answer so: no box holds half a pair of braces, and an expression in LaTeX is no text."""
    if "box" in decoration and answer.count("{") != answer.count("}"):
        return False
    return family != "math" or decoration not in OF_WORDS


def hedges(answer: str, rival: str) -> Iterator[Form]:
    """Yield replies that give two answers, one of them right."""
    for at, hedge in enumerate(HEDGED):
        yield Form(f"hedge {at}", hedge.format(answer, rival))
        yield Form(f"hedge {at}, turned", hedge.format(rival, answer))


def _stop(framed: str, after: str) -> str:
    """Return the full stop that a text needs before a further sentence on its line."""
    ended = framed.endswith((".", "</answer>", "```")) or framed.startswith("{")
    return "" if after.startswith("\n") or ended else "."
