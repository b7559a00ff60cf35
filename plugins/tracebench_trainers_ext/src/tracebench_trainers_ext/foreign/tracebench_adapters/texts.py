"""Values as texts and back: most libraries optimise strings, a task's parameters have types."""

import json
import re

SECTION = "### PARAMETER "
"""Begins a parameter's part of a file that holds several."""


def to_text(parameter, value):
    """Return a value as text: words, code and a single file as they are, all else as JSON."""
    path = only_file(parameter)
    if path is not None and list(value) == [path]:
        return value[path]
    return value if parameter.kind in {"text", "code"} else json.dumps(value, ensure_ascii=False)


def only_file(parameter):
    """Return the path of the one file that a parameter consists of, or None."""
    paths = list(parameter.initial) if parameter.kind == "files" else []
    return paths[0] if len(paths) == 1 else None


def from_text(parameter, text):
    """Return the value that a text stands for; a text that stands for none is returned as it is, and refused at the door in words."""
    if parameter.kind == "text":
        return text
    if parameter.kind == "code":
        return as_code(text, like=parameter.initial)
    path = only_file(parameter)
    if path is not None:
        return {path: as_code(text, like=parameter.initial[path])}
    bare = without_fence(text).strip()
    choices = getattr(parameter, "choices", ())
    try:
        value = strict_json(bare)
    except (ValueError, RecursionError):
        value = text
    is_one = json.dumps(value, sort_keys=True) in [json.dumps(one, sort_keys=True) for one in choices]  # 1 is not True
    return bare if bare in choices and not is_one else value


def strict_json(text):
    """Return what a text says as JSON; the door takes no `NaN` and no `1e999`, which Python's reader lets through."""
    value = json.loads(text)
    json.dumps(value, allow_nan=False)
    return value


def as_code(text, *, like):
    """Return code without a fence around it, with a last line break where the initial value has one, else without."""
    code = without_fence(text)
    if not code.strip():
        return code
    return code.rstrip("\n") + ("\n" if like.endswith("\n") else "")


def without_fence(text):
    """Return what stands between the fences of a text that is one fenced block, else the text."""
    found = re.fullmatch(r"\s*```[^\n`]*\n(.*?)\n?```\s*", text, flags=re.DOTALL)
    return found[1] if found and "```" not in found[1] else text


def join(texts):
    """Return several texts as one file; a single one is the file."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "".join(f"{SECTION}{name}\n{text}\n" for name, text in texts.items())


def split(file, like):
    """Return the texts of a file made by `join`; a part that is missing keeps the text that it has in `like`."""
    if len(like) == 1:
        return dict.fromkeys(like, file)
    found = dict(like)
    for part in re.split(rf"^{re.escape(SECTION)}", without_fence(file), flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        if name.strip() in found:
            found[name.strip()] = text[:-1] if text.endswith("\n") else text
    return found


def fields_of(initial, description):
    """Return the names of a worked example's question and answer: those of the initial list, else of an object in the description."""
    if initial and isinstance(initial[0], dict):
        return (*initial[0], "output")[:2]
    described = re.search(r'\{\s*"(\w+)":[^{}]*?,\s*"(\w+)":', description or "")
    return described.groups() if described else ("input", "output")
