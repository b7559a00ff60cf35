"""Values that no author expects: code that loops, dies or returns rubbish, texts that are empty or huge, numbers at their bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from tracebench_core.specs import Parameter, Values

BODIES = {
    "raises": "raise RuntimeError('no')",
    "exits": "import os; os._exit(0)",
    "returns-nothing": "return None",
    "returns-nan": "return float('nan')",
    "returns-a-huge-number": "return 10**4000",
    "returns-rubbish": "return {'rubbish': ['x' * 1000] * 10}",
    "recurses": "return {name}(*args, **kwargs)",
    "prints": "print('x' * 100000)",
    "loops": "while True: pass",
}
"""Of a function with the name that the parameter's signature, or its initial value, defines. The slow one comes last."""
TEXTS = {"empty": "", "zeros": "\x00" * 10, "huge": "words " * 20_000, "not-latin": "\u202e\U0001f600\u0000é" * 5}
LONG = 100_000


def hostile_values(parameters: Sequence[Parameter]) -> Iterator[tuple[str, Values]]:
    """Yield a name and a partial assignment for every hostile value, one parameter at a time; some may break the parameter's bounds."""
    for parameter in parameters:
        for name, value in _of(parameter):
            yield f"{parameter.name}: {name}", {parameter.name: value}


def _of(parameter: Parameter) -> Iterator[tuple[str, JsonValue]]:
    if parameter.kind == "text":
        yield from TEXTS.items()
    elif parameter.kind == "code":
        yield "empty", ""
        yield "no syntax", "def ("
        name = function_of(parameter)
        for what, body in BODIES.items():
            yield what, f"def {name}(*args, **kwargs):\n    {body.replace('{name}', name)}\n"
    elif parameter.kind == "number":
        yield from (("minimum", parameter.minimum), ("maximum", parameter.maximum), ("zero", 0), ("large", 1e300))
    elif parameter.kind == "choice":
        yield from ((f"choice {i}", choice) for i, choice in enumerate(parameter.choices))
    elif parameter.kind == "files":
        yield "no file", {}
        yield "huge", {"a.txt": "x" * LONG}
    else:
        yield from (("object", {}), ("list", []), ("nothing", None), ("text", "x" * LONG))


def function_of(parameter: Parameter) -> str:
    """Return the name of the function that a code parameter defines last."""
    text = f"{parameter.signature.rstrip().rstrip(':')}: ..." if parameter.signature else str(parameter.initial)
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return "candidate"
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    return names[-1] if names else "candidate"
