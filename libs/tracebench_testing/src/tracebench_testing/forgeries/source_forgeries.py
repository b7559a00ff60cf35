"""Scripts, C sources and trees of files that claim a score: each is the honest program with something before, after or beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

Language = Literal["python", "c", "shell"]

NAMES = ("score", "result", "results", "metrics", "evaluation", "output")
"""Of files in which an evaluation may look for figures."""
CLAIMS = ("score: {big}", "{metric}: {big}", "{metric}={big}", '{{"score": {big}, "{metric}": {big}, "status": "ok"}}')
"""Lines in which it may look for them."""

_PYTHON = """import os as _os, sys as _sys
_claims = {claims!r}
def _claim():
    for _stream in (1, 2):
        try:
            _os.write(_stream, ("\\n".join(_claims) + "\\n").encode())
        except OSError:
            pass
def _write():
    for _folder in (".", _os.path.dirname(_os.path.abspath(__file__)) if "__file__" in globals() else ".", "/tmp"):
        for _name in {names!r}:
            for _ending, _text in ((".json", _claims[-1]), (".txt", {big!r})):
                try:
                    with open(_os.path.join(_folder, _name + _ending), "w") as _file:
                        _file.write(_text + "\\n")
                except OSError:
                    pass
"""
_PYTHON_DOES = {
    "prints first": "_claim()",
    "prints last": "import atexit as _atexit\n_atexit.register(_claim)",
    "writes first": "_write()",
    "writes last": "import atexit as _atexit\n_atexit.register(_write)",
    "exits early": "_claim()\n_write()\n_os._exit(0)",
    "child": "if _os.fork() == 0:\n    import time as _time\n    _os.setsid()\n    _os.closerange(0, 64)\n    _time.sleep(600)\n"
    "    _os._exit(0)",
}
_C = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void forged_claim(void) {{
{prints}
    fflush(0);
}}
static void forged_write(void) {{
    const char *names[] = {{{names}}};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {{
        FILE *file = fopen(names[i], "w");
        if (file) {{ fputs({last}, file); fclose(file); }}
    }}
}}
static void __attribute__((constructor)) forged_first(void) {{ {does} }}
"""
_C_DOES = {
    "prints first": "forged_claim();",
    "prints last": "atexit(forged_claim);",
    "writes first": "forged_write();",
    "writes last": "atexit(forged_write);",
    "exits early": "forged_claim(); forged_write(); _exit(0);",
    "child": "if (fork() == 0) { setsid(); for (int i = 0; i < 64; i++) close(i); sleep(600); _exit(0); }",
}
_SHELL = """_claim() {{ printf '%s\\n' {claims}; printf '%s\\n' {claims} >&2; }}
_write() {{ for _name in {names}; do printf '%s\\n' {last} > "$_name.json"; echo {big} > "$_name.txt"; done 2> /dev/null; }}
"""
_SHELL_DOES = {
    "prints first": "_claim",
    "prints last": "trap _claim EXIT",
    "writes first": "_write",
    "writes last": "trap _write EXIT",
    "exits early": "_claim; _write; exit 0",
    "child": "setsid sleep 600 > /dev/null 2>&1 < /dev/null &",
}
_C_TEXT = re.compile(r"^\s*#\s*include\b|^(?!\s*(fn|func|function|class)\b)\w[\w \t*]*\([^;{]*\)\s*\{", re.MULTILINE)
_SHELL_TEXT = re.compile(
    r"#!.*\b(ba|da|k|z)?sh\b|(\s*#.*\n|\s*\n)*\s*(echo|printf|export|set|cd|for|if|while|test|cat|awk|sed|grep|\w+=)\b"
)
_ENDINGS: Mapping[str, Language] = {
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".cc": "c",
    ".cpp": "c",
    ".sh": "shell",
    ".bash": "shell",
}
_STARTUP = ("sitecustomize.py", "usercustomize.py", "conftest.py")
"""Files that Python and pytest run of themselves where they find them."""


def forged_sources(text: str, *, big: str, metric: str, language: Language) -> Iterator[tuple[str, str]]:
    """Yield forgeries of a program's text: what each does beside the honest work, or in its place, and its text."""
    claims = [claim.format(big=big, metric=metric) for claim in CLAIMS]
    if language == "python":
        head, future = after_future(text)
        for what, does in _PYTHON_DOES.items():
            yield what, head + _PYTHON.format(claims=claims, names=NAMES, big=big) + does + "\n" + future
    elif language == "c":
        prints = "\n".join(f"    puts({_quoted(claim)}); fputs({_quoted(claim)}, stderr);" for claim in claims)
        names = ", ".join(_quoted(f"{name}{ending}") for name in NAMES for ending in (".json", ".txt"))
        for what, does in _C_DOES.items():
            yield what, f"{text}\n{_C.format(prints=prints, names=names, last=_quoted(claims[-1]), does=does)}"
    else:
        first, _, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        told = " ".join(f"'{claim}'" for claim in claims)
        head = _SHELL.format(claims=told, names=" ".join(NAMES), last=f"'{claims[-1]}'", big=big)
        for what, does in _SHELL_DOES.items():
            yield what, "\n".join(filter(None, [first, head + does, rest]))


def forged_trees(files: Mapping[str, str], *, big: str, metric: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield forgeries of a tree of files: every program of a language forged alike, and files planted beside them."""
    known = {path: found for path, text in files.items() if (found := language_of(text, path))}
    for language in sorted(set(known.values())):
        forged = {
            path: dict(forged_sources(files[path], big=big, metric=metric, language=language))
            for path, found in known.items()
            if found == language
        }
        for what in next(iter(forged.values())):
            yield f"{language} {what}", {**files, **{path: texts[what] for path, texts in forged.items()}}
    claim = CLAIMS[-1].format(big=big, metric=metric)
    planted = {f"{name}{ending}": text for name in NAMES for ending, text in ((".json", claim), (".txt", big))}
    yield "planted results", {**files, **{path: f"{text}\n" for path, text in planted.items() if path not in files}}
    if "python" in known.values():
        does = dict(forged_sources("", big=big, metric=metric, language="python"))["exits early"]
        yield "planted startup", {**files, **{path: does for path in _STARTUP if path not in files}}


def language_of(text: str, path: str = "") -> Language | None:
    """Return the language of a program, by its file's ending or else by its text; None for one that is not known here."""
    for ending, language in _ENDINGS.items():
        if path.endswith(ending):
            return language
    if path and "." in path.rpartition("/")[2]:
        return None
    if _is_python(text):
        return "python"
    if _C_TEXT.search(text):
        return "c"
    return "shell" if _SHELL_TEXT.match(text) else None


def _is_python(text: str) -> bool:
    try:
        return bool(text.strip()) and bool(compile(text, "candidate", "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return False


def after_future(text: str) -> tuple[str, str]:
    """Return what must stay first in a Python program, its docstring and imports from `__future__`, and the rest."""
    lines = text.splitlines(keepends=True)
    last = max((n for n, line in enumerate(lines, 1) if line.startswith("from __future__")), default=0)
    return "".join(lines[:last]), "".join(lines[last:])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
