"""How far a reply is searched for values, which form of it counts, and how many steps a trainer takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tracebench_core.contracts import Problem
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.proposing.replies import UnreadableReply, read_reply, strip_fence
from tracebench_core.proposing.schedule import schedule
from tracebench_core.specs import Budget, Parameter

TEXT, CODE, MORE = (
    Parameter(name="prompt", initial="Go."),
    Parameter(name="code", initial="x = 1", kind="code"),
    Parameter(name="more", initial="y = 1", kind="code"),
)
BOTH = [TEXT, CODE]


def test_an_object_is_found_behind_63_braces_and_not_behind_64() -> None:
    for before, found in ((63, True), (64, False)):
        reply = "{ " * before + 'so: {"prompt": "a"}'
        if found:
            assert read_reply(reply, BOTH) == {"prompt": "a"}
        else:
            with pytest.raises(UnreadableReply, match=r"^the reply held no JSON object with the key `values`$"):
                read_reply(reply, BOTH)


def test_an_empty_reply_is_told_apart() -> None:
    with pytest.raises(UnreadableReply, match=r"^the reply was empty$"):
        read_reply(" \n", BOTH)


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ('{"values": {"prompt": "a", "odd": 1}, "prompt": "b"}', {"prompt": "a", "odd": 1}),
        ('{"suggestion": {"prompt": "a"}}', {"prompt": "a"}),
        ('{"variables": {"prompt": "a"}}', {"prompt": "a"}),
        ('{"prompt": "a", "odd": 1}', {"prompt": "a"}),
        ('{"values": "all", "prompt": "a"}', {"prompt": "a"}),
        ('{"odd": 1} and then {"prompt": "a"}', {"prompt": "a"}),
        ("{'prompt': 'a', 'odd': None}", {"prompt": "a"}),
        ('{"prompt": "a,}", }', {"prompt": "a,}"}),
        ('{"values": {"prompt": ["a", "b",],},}', {"prompt": ["a", "b"]}),
        ('{"prompt": "two\nlines"}', {"prompt": "two\nlines"}),
        ('```json\n{"prompt": "fenced"}\n```\n{"prompt": "bare"}', {"prompt": "fenced"}),
        ('so: {"prompt": "a",} there', {"prompt": "a"}),
        ('<variable name="prompt"><value>\n  a\n</value></variable>{"prompt": "b"}', {"prompt": "  a"}),
        ("<variable kind='x' name='prompt'><value>a</value></variable>", {"prompt": "a"}),
        ('<variable name="other"><name> prompt </name><value>a</value></variable>', {"prompt": "a"}),
        ('<variable name="prompt"><name> </name><value>a</value></variable>', {"prompt": "a"}),
        ('<variable name="prompt"><value>a</value></variable><variable><value>b</value></variable>', {"prompt": "a"}),
        ("```\nfirst\n```\n```python\nlast\n```", {"code": "last"}),
    ],
)
def test_the_first_form_that_names_a_value_counts(reply: str, values: dict[str, Any]) -> None:
    assert read_reply(reply, BOTH) == values


def test_a_wrapper_that_is_itself_a_parameter_is_a_value() -> None:
    values = Parameter(name="values", initial={}, kind="json")
    assert read_reply('{"values": {"a": 1}}', [values, TEXT]) == {"values": {"a": 1}}


@pytest.mark.parametrize(
    ("parameters", "name"), [([TEXT], "prompt"), ([TEXT, CODE], "code"), ([CODE, MORE], None), ([TEXT, TEXT], None)]
)
def test_a_block_is_the_value_of_the_only_parameter_or_of_the_only_code(
    parameters: list[Parameter], name: str | None
) -> None:
    reply = "```py\n  a\n\n```"
    if name:
        assert read_reply(reply, parameters) == {name: "  a\n"}
    else:
        with pytest.raises(UnreadableReply):
            read_reply(reply, parameters)


@pytest.mark.parametrize(
    ("text", "bare"),
    [("```\na\n```", "a"), (" ```c++ \r\na\r\n``` ", "a"), ("so ```\na\n```", "so ```\na\n```"), ("a", "a")],
)
def test_a_fence_goes_only_where_it_holds_all_of_the_text(text: str, bare: str) -> None:
    assert strip_fence(text) == bare


@pytest.mark.parametrize(
    "reply",
    [
        f"<variable><name>{' ' * 500_000}x",
        f"```\n{' ' * 500_000}x",
        "{" + '\\"' * 20_000,
        '{"prompt": "' + '\\"' * 20_000,
        "<variable><value>" * 20_000,
        "<variable><name>" * 20_000,
        "<variable " * 20_000,
        "<variable><name>" * 20_000 + "</name><value>",
        "<variable><value>" + "</value>" * 20_000,
    ],
    ids=lambda reply: reply[:28],
)
def test_a_reply_that_goes_on_and_on_is_read_in_a_time_that_grows_with_its_length(reply: str) -> None:
    """Where it grew with its square or cube the test would end by its timeout."""
    with pytest.raises(UnreadableReply):
        read_reply(reply, BOTH)


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ("<variable><value>a<variable><name>prompt</name><value>b</value></variable>", UnreadableReply),
        ("<variable><value>a</value> <variable><name>prompt</name><value>b</value></variable>", UnreadableReply),
        ("<variable>, then <variable><name>prompt</name>\n<value>b</value>\n</variable>", {"prompt": "b"}),
        ("<variable><name>more <variable name='prompt'><value>b</value></variable>", {"prompt": "b"}),
        (
            "<variable><name>prompt</name><value>its </value> is in it</value></variable>",
            {"prompt": "its </value> is in it"},
        ),
        ("<variable><name>x</name> <variable name='prompt'><value>b</value></variable></name><value>", {"prompt": "b"}),
        ("<variables><name>prompt</name><value>b</value></variable>", UnreadableReply),
        ("<variable><name>prompt</name><value>b</value>", UnreadableReply),
        ('{"prompt": "a",} "so', {"prompt": "a"}),
    ],
)
def test_a_variable_is_its_name_and_its_value_and_the_ends_of_both(reply: str, values: Any) -> None:
    if values is UnreadableReply:
        with pytest.raises(UnreadableReply):
            read_reply(reply, BOTH)
    else:
        assert read_reply(reply, BOTH) == values


class Spending:
    """A job's budget that each look finds further: by these amounts, and then by nothing more."""

    def __init__(self, caps: Budget, amounts: list[float]) -> None:
        self.caps, self._amounts, self._used = caps, [0.0, *amounts], 0.0

    def used(self) -> Any:
        self._used += self._amounts.pop(0) if self._amounts else 0.0
        return SimpleNamespace(llm_calls=self._used, evaluations=0)


def steps(caps: Budget, amounts: list[float], *, default: int = 3, told: int | None = None) -> int:
    problem = cast("Problem", SimpleNamespace(budget=Spending(caps, amounts)))
    taken = list(schedule(problem, told, default=default))
    assert taken == list(range(len(taken)))
    return len(taken)


@pytest.mark.parametrize(
    ("caps", "amounts", "taken"),
    [
        (Budget(), [1] * 50, 3),  # nothing is capped
        (Budget(evaluations=9), [1] * 50, 3),  # what is spent is not what is capped
        (Budget(llm_calls=9), [], 3),
        (Budget(llm_calls=9), [0, 0, 1], 23),  # the third step spends: twenty more do not
        (Budget(llm_calls=9), [0, 0, 0, 1], 3),
        (Budget(llm_calls=9), [1] * 10, 30),
        (Budget(llm_calls=9), [1, *[0] * 19, 1], 41),
        (Budget(llm_calls=9), [1, *[0] * 20, 1], 21),
        (Budget(llm_calls=9), [1e-9] * 20_000, 10_000),
    ],
)
def test_steps_go_on_while_a_cap_is_being_spent_and_twenty_idle_ones_end_them(
    caps: Budget, amounts: list[float], taken: int
) -> None:
    assert steps(caps, amounts) == taken
    assert steps(caps, amounts, told=2) == 2


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("<current_values>\n" * 20_000, None),
        (
            '<current_values>\n{"a": 1}\n</current_values>\n<current_values> \n{"a": 2}\n</current_values>\t\nend',
            {"a": 2},
        ),
        ('<current_values>\n<current_values>\n{"a": 1}\n</current_values>', None),
        ('<current_values>\n{"a": 1}\n</current_values>\n<current_values>\n[1]\n</current_values>', {"a": 1}),
        (' <current_values>\n{"a": 1}\n</current_values>', None),
        ("<current_values>\n" + "[" * 100_000 + "\n</current_values>", None),
    ],
    ids=lambda prompt: str(prompt)[:24],
)
def test_the_last_section_of_values_is_read_however_many_begin(prompt: str, shown: Any) -> None:
    assert shown_values(prompt) == shown
