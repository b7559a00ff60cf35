"""Does a candidate's code run outside of the sandbox: in the process that scores it, or in one that may write where this user may?"""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import Parameter, Values
from tracebench_engine.api.evaluating import breach, open_workbench
from tracebench_engine.api.installed.hosting import open_host
from tracebench_engine.api.sandboxes import open_sandbox
from tracebench_testing.answering import FakeModel
from tracebench_testing.forgeries.source_forgeries import after_future, language_of

_WRITES = """try:
    with open({path!r}, "w") as {word}:
        {word}.write("x")
except BaseException:
    pass
"""
"""Leaves a name that an audit hook recognises, and a file where nobody in a sandbox can write."""
EXECUTED = "its own process executes what a candidate says (`exec`, `eval` or an import)"
WRITTEN = "it starts a process for a candidate that may write wherever this user may"

BLIND = (
    "only what its own process executes was looked for: candidates in this host's sandbox may write files, which tells nothing of a "
    "process that it starts  (trace-bench doctor)"
)


def try_outside(task_id: str, options: Mapping[str, Any], *, say: Callable[[Mapping[str, Any]], None]) -> None:
    """Evaluate the initial candidate with a line more in each parameter that is Python, and say which ran outside of a sandbox and how.

    What could not be seen is said, too: a parameter that takes no such line, a sandbox beside which a written file tells nothing.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workbench(open_host(), task_id, eval_kwargs=options, models=FakeModel("")) as bench,
    ):
        initial = bench.complete({})
        files_tell: bool | None = None
        refused: dict[str, str] = {}
        for parameter in bench.parameters:
            word, path = f"_apart_{secrets.token_hex(8)}", Path(folder) / secrets.token_hex(8)
            line = _WRITES.format(path=str(path), word=word)
            for values in _marked(parameter, initial, line):
                if why := breach(bench.parameters, values):
                    refused[parameter.name] = why
                    continue
                if files_tell is None:
                    files_tell = _is_kept_out(Path(folder) / "tried")
                executed = _heard(word)
                next(iter(bench.evaluate(values, split="train", name=word)))
                if executed:
                    say({"outside": parameter.name, "how": EXECUTED})
                elif files_tell and path.exists():
                    say({"outside": parameter.name, "how": WRITTEN})
        for name, why in refused.items():
            say({"skipped": f"`{name}` takes no line more: {why}"})
        if files_tell is None and not refused:
            say({"skipped": "does not apply: no parameter holds a program in Python"})
        if files_tell is False:
            say({"skipped": BLIND})
        say({"ended": task_id})


def _marked(parameter: Parameter, initial: Values, line: str) -> Iterator[Values]:
    """Yield the initial candidate with `line` in its program; nothing for what is no Python."""
    value = initial.get(parameter.name)
    if parameter.kind == "code" and isinstance(value, str) and language_of(value) == "python":
        yield initial | {parameter.name: _opened(value, line)}
    elif parameter.kind == "files" and isinstance(value, dict):
        known = {path for path, text in value.items() if language_of(str(text), path) == "python"}
        marked = {path: _opened(str(text), line) if path in known else text for path, text in value.items()}
        if known:
            yield initial | {parameter.name: marked}


def _opened(text: str, line: str) -> str:
    head, rest = after_future(text)
    return head + line + rest


def _heard(word: str) -> list[bool]:
    """Return a list that holds something once this process executes code which names `word`."""
    heard: list[bool] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec" and isinstance(arguments[0], CodeType) and _names(arguments[0], word):
            heard.append(True)

    sys.addaudithook(note)
    return heard


def _names(code: CodeType, word: str) -> bool:
    own = word in code.co_names or word in code.co_varnames
    return own or any(_names(held, word) for held in code.co_consts if isinstance(held, CodeType))


def _is_kept_out(path: Path) -> bool:
    """Tell whether a candidate in the sandbox of this host cannot write a file there: only then does a file say where one ran."""
    try:
        with open_sandbox(preload=[], require="process") as sandbox:
            sandbox.call(f"def tried():\n    open({str(path)!r}, 'w').close()\n", "tried")
    except TraceBenchError:
        return False
    return not path.exists()
