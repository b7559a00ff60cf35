"""A trainable text before a dialogue with tools: the model calls them until it answers the user, whose next message then comes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Message, Parameter, Values
from tracebench_hfqa.programs.base import LONGEST, Program, Reply, system, user
from tracebench_hfqa.scripted.dialogue import MOST_CALLS, Call, Turn, calls_in, do
from tracebench_hfqa.scripted.environment import Tool

DEFAULT = "Serve the user with the tools."
FORM = (
    'To call tools, send one JSON list and nothing else: [{"tool": "<name>", "arguments": {"<name>": <value>}}]. '
    "Their results come back. Send anything else to answer the user, who then goes on."
)


class Tools(Program):
    """`instructions` and the tools, then turn by turn what the user says: several calls of the model."""

    name = "tools"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """One text."""
        return (
            Parameter(
                name="instructions",
                initial=self.initial(DEFAULT),
                description=f"What the model is told before the dialogue. {self.family.asks_for}",
                max_length=LONGEST,
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Lead the dialogue to its end; the reply is what was called and said, turn by turn."""
        told = json.loads(asked["context"])
        state, tools = deepcopy(told["state"]), [Tool.model_validate(each) for each in told["tools"]]
        listed = "\n".join(f"- {t.name}({', '.join(t.arguments)}): {t.description}" for t in tools)
        messages = [system(f"{values['instructions']}\n\nTools:\n{listed}\n\n{FORM}")]
        turns, tokens = [], 0
        for text in told["users"]:
            messages.append(user(text))
            turn, used = self._turn(messages, state, tools, context)
            turns.append(turn.model_dump(mode="json"))
            tokens += used
        return Reply(json.dumps(turns), tokens=tokens)

    def _turn(self, messages: list[Message], state: Any, tools: Sequence[Tool], context: Context) -> tuple[Turn, int]:
        """Let the model call tools until it answers; return what it did, and the tokens of it."""
        made: list[Call] = []
        tokens = 0
        for _ in range(MOST_CALLS):
            reply = self.ask(messages, context)
            tokens += reply.tokens
            messages.append({"role": "assistant", "content": reply.text})
            calls = calls_in(reply.text)
            if calls is None:
                return Turn(calls=tuple(made), said=reply.text), tokens
            made += calls
            results = [do(state, tools, call) for call in calls]
            messages.append(user("Results:\n" + "\n".join(json.dumps(result) for result in results)))
        return Turn(calls=tuple(made), said=None), tokens
