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


REPAIRS = {
    LOOK: ('''the folder before it begins."""
    return ""''', '''the folder before it begins."""
    return run("head -v -n 20 *")'''),
    CHECK: ('''it is believed."""
    return ""''', '''it is believed."""
    return run("head -v -n 20 *")'''),
}  # fmt: skip
"""By advice, the lines of the small agent's own code (`agent/main.py`) in the place of which others do by themselves what it asks for."""
HEADED = "==> "
"""What `head -v` writes before each file: the agent was shown what is there."""


def answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the next message, a function of the conversation alone."""
    texts = [_text(message) for message in messages]
    values = shown_values("\n\n".join(texts))
    if values is not None:
        return _advice(values, "\n\n".join(texts))
    if "You work in a terminal, in the folder of a task" in texts[0]:
        return _step(texts)
    begun = any(message.get("role") == "assistant" for message in messages)
    return _work(texts[0] if texts else "", begun=begun)


def _work(prompt: str, *, begun: bool) -> str:
    play = next((play for play in PLAYS if play.marker in prompt), None)
    if begun or play is None:
        return _turn("The work is done.", [], done=True)
    if play.needs and play.needs not in prompt.lower():
        return _turn(f"I write the answer {_RULES[play.needs]}.", [play.careless])
    return _turn("I do as I am advised.", [play.careful])


def _step(texts: Sequence[str]) -> str:
    """Play the small agent's model: careful where its code has shown what is there, before it begins or when it says that it is done."""
    task, last = texts[1], texts[-1]
    play = next((play for play in PLAYS if play.marker in task), None)
    is_first = len(texts) == 2  # noqa: PLR2004 - the prompt and the task
    if play is None or not (is_first or HEADED in last):
        return _done("The work is done.")
    needed = {"": True, LOOK: is_first and HEADED in task, CHECK: not is_first}[play.needs]
    if needed:
        return _done("I do as I see.", play.careful)
    return _done(f"I write the answer {_RULES[play.needs]}.", play.careless) if is_first else _done("The work is done.")


def _done(thought: str, *commands: str) -> str:
    return json.dumps({"thought": thought, "commands": commands, "done": True})


def _turn(analysis: str, commands: Sequence[str], *, done: bool = False) -> str:
    typed = [{"keystrokes": f"{command}\n", "duration": 0.3} for command in commands]
    return json.dumps({"analysis": analysis, "plan": "Run the commands.", "commands": typed, "task_complete": done})


def _advice(values: Mapping[str, Any], prompt: str) -> str:
    name, current = next(iter(values.items()))
    if isinstance(current, dict):
        return _repaired(name, current, prompt)
    lacking = [rule for rule, sign in _RULES.items() if sign in prompt and rule not in str(current).lower()]
    text = f"{current}\n{lacking[0].capitalize()}.".strip() if lacking else str(current)
    return json.dumps({"reasoning": "A rule, not a thought.", "values": {name: text}})


def _repaired(name: str, files: Mapping[str, str], prompt: str) -> str:
    """Return the agent's files with one more repair of its code: of what the transcript gives away."""
    code = files.get("main.py", "")
    lacking = [lines for rule, lines in REPAIRS.items() if _RULES[rule] in prompt and lines[0] in code]
    changed = code.replace(*lacking[0]) if lacking else code
    return json.dumps({"reasoning": "A rule, not a thought.", "values": {name: {**files, "main.py": changed}}})


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
