"""How the stub model answers the libraries' prompts for a new text: TextGrad's and GEPA's. It is no language model."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from tracebench_core.contracts import Propose
from tracebench_core.specs import Message


def textgrad(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer between `<IMPROVED_VARIABLE>` tags, to one text between `<VARIABLE>` tags."""
    prompt = _prompt(messages)
    if "<IMPROVED_VARIABLE>" not in prompt:
        return None
    shown = re.findall(r"<VARIABLE>(.*?)</VARIABLE>", prompt, flags=re.DOTALL)
    text = shown[-1].strip() if shown else ""
    return f"<IMPROVED_VARIABLE>{propose({'variable': text}).get('variable', text)}</IMPROVED_VARIABLE>"


def gepa(messages: Sequence[Message], _rng: random.Random, propose: Propose, /) -> str | None:
    """Answer with a fenced text, to a prompt that shows the current one in its first fence and asks for the new one in such."""
    prompt = _prompt(messages)
    if not re.search(r"within ``` blocks", prompt):
        return None
    shown = re.search(r"```[ \t]*\n(.*?)\n```", prompt, flags=re.DOTALL)
    text = shown[1] if shown else ""
    return f"```\n{propose({'text': text}).get('text', text)}\n```"


def _prompt(messages: Sequence[Message]) -> str:
    return "\n\n".join(text for message in messages if isinstance(text := message.get("content"), str))
