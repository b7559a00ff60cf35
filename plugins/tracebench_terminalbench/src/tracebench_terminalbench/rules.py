"""A rule-based stand-in for a model, to try the suite without one: it plays the agent on the toy tasks, and it gives advice.

    python -m tracebench_terminalbench.rules --port 8378

It is no language model. As the agent it works carelessly unless its prompt asks for care: it looks into a file only when told to look, and
checks its work only when told to check. As the adviser it reads what went wrong in the transcript of the agent, and adds one rule.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracebench_core.proposing.answer_format import shown_values
from tracebench_testing.fake_openai import FakeOpenAI

LOOK, CHECK = "look into a file before you change it", "check your work before you are done"
_RULES = {LOOK: "without a look", CHECK: "without a check"}
"""The advice that helps, and the words of the agent that give away that it is needed."""


class Play(NamedTuple):
    """How the stand-in solves a toy task: `marker` tells the task, `needs` is the advice without which it fails."""

    marker: str
    needs: str
    careless: str
    careful: str


PLAYS = (
    Play("/app` with exactly this one line", "", "", "echo 'Hello, harbor!' > /app/hello.txt"),
    Play(
        "/app/errors.csv",
        LOOK,
        "echo 'billing,1' > /app/errors.csv",
        'awk \'$2=="ERROR"{c[$3]++} END{for(s in c) print s","c[s]}\' /app/service.log | sort -t, -k2,2nr -k1,1 > /app/errors.csv',
    ),
    Play(
        "/app/sum.sh",
        CHECK,
        "sed -i 's/\\$2/$1/' /app/sum.sh",
        "printf '#!/bin/bash\\nt=0\\nwhile read -r n; do t=$((t + ${n:-0})); done < \"$1\"\\necho $t\\n' > /app/sum.sh; "
        "chmod +x /app/sum.sh",
    ),
    Play(
        "/app/photos",
        LOOK,
        "mv /app/photos/IMG_1.JPG /app/photos/photo-001.jpg",
        "cd /app/photos; for f in IMG_*.JPG; do n=${f#IMG_}; mv $f $(printf 'photo-%03d.jpg' ${n%.JPG}); done",
    ),
    Play(
        "/app/merged.ini",
        CHECK,
        "cat /app/default.ini /app/local.ini > /app/merged.ini",
        "awk -F= '!/^#/ && NF {v[$1]=$0} END{for(n in v) print v[n]}' /app/default.ini /app/local.ini | LC_ALL=C sort > /app/merged.ini",
    ),
)


def answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the next message, a function of the conversation alone."""
    texts = [_text(message) for message in messages]
    values = shown_values("\n\n".join(texts))
    if values is not None:
        return _advice(values, "\n\n".join(texts))
    begun = any(message.get("role") == "assistant" for message in messages)
    return _work(texts[0] if texts else "", begun=begun)


def _work(prompt: str, *, begun: bool) -> str:
    play = next((play for play in PLAYS if play.marker in prompt), None)
    if begun or play is None:
        return _turn("The work is done.", [], done=True)
    if play.needs and play.needs not in prompt.lower():
        return _turn(f"I write the answer {_RULES[play.needs]}.", [play.careless])
    return _turn("I do as I am advised.", [play.careful])


def _turn(analysis: str, commands: Sequence[str], *, done: bool = False) -> str:
    typed = [{"keystrokes": f"{command}\n", "duration": 0.3} for command in commands]
    return json.dumps({"analysis": analysis, "plan": "Run the commands.", "commands": typed, "task_complete": done})


def _advice(values: Mapping[str, Any], prompt: str) -> str:
    name, current = next(iter(values.items()))
    lacking = [rule for rule, sign in _RULES.items() if sign in prompt and rule not in str(current).lower()]
    text = f"{current}\n{lacking[0].capitalize()}.".strip() if lacking else str(current)
    return json.dumps({"reasoning": "A rule, not a thought.", "values": {name: text}})


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def main() -> None:
    """Serve until interrupted, then print what was served as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8378)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds an answer takes")
    args = parser.parse_args()
    with FakeOpenAI(port=args.port, delay=args.delay, reply=answer) as server:
        print(server.base_url, flush=True)  # noqa: T201 - a program of its own
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            served = server.log.served
            tokens = sum(one.prompt_tokens + one.completion_tokens for one in served)
            print(json.dumps({"calls": len(served), "tokens": tokens}))  # noqa: T201


if __name__ == "__main__":
    main()
