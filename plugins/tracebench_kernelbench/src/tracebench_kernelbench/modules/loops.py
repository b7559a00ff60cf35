"""The plain kernels in C as loops for Numba: translated, so that each problem has a right kernel without one written for it.

Only the C of our own problems is understood, and whatever is not is an error: loops that count up, arrays and pointers into them, numbers
of 32 bits. Arrays are flat; a pointer is what is left of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from keyword import iskeyword
from typing import Any

_HEAD = "import math\nimport numba\nimport numpy as np\n\nF = np.float32\n"
_CALLS = {"expf": "exp", "tanhf": "tanh", "logf": "log", "log1pf": "log1p", "sqrtf": "sqrt"}
_COMPARE = {"<", ">", "<=", ">=", "==", "!="}
_ARITHMETIC = {"+", "-", "*", "/"}
_INDENT = "    "
Typed = tuple[str, str]
"""An expression in Python, and what it is in C: `float`, `int`, `bool`, or `float*` and `int*`."""


class UntranslatableError(ValueError):
    """The C is none that is understood here."""


def loops_of(source: str) -> str:
    """Return a module in Python whose last function, compiled by Numba, is `once` and does what `kernel` does in C, on flat arrays.

    Raises:
        UntranslatableError: for C that is not understood, with the node at fault.
    """
    from pycparser import c_ast, c_parser  # noqa: PLC0415 - only calibrating needs it

    try:
        tree = c_parser.CParser().parse(re.sub(r"^\s*#.*$", "", source, flags=re.MULTILINE))
    except c_parser.ParseError as err:
        raise UntranslatableError(f"this is no C: {err}") from err
    text, calls = _HEAD, {name: f"math.{called}" for name, called in _CALLS.items()}
    constants: set[str] = set()
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef):
            name = "once" if node.decl.name == "kernel" else node.decl.name
            text += "\n\n" + "\n".join(_Function(calls, constants).define(node, name))
            calls[node.decl.name] = name
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.Enum):
            for one in node.type.values.enumerators:
                constants.add(one.name)
                text += f"{one.name} = {one.value.value}\n"
        else:
            raise _unknown(node)
    return text + "\n"


def _unknown(node: Any) -> UntranslatableError:
    return UntranslatableError(f"no loops for Numba are made of `{type(node).__name__}` at {node.coord}")


class _Function:
    """Translates one function; knows the types of its names."""

    def __init__(self, calls: dict[str, str], constants: set[str]) -> None:
        self._calls = calls
        self._types = dict.fromkeys(constants, "int")
        self._sizes: dict[str, str] = {}

    def define(self, node: Any, name: str) -> Iterator[str]:
        parameters = node.decl.type.args.params
        for one in parameters:
            self._types[one.name] = self._type(one.type)
        yield "@numba.njit"
        yield f"def {name}({', '.join(_safe(one.name) for one in parameters)}):"
        yield from self._block(node.body)

    def _type(self, node: Any) -> str:
        kind = type(node).__name__
        if kind == "TypeDecl":
            name = " ".join(node.type.names)
            if name not in {"float", "int", "void"}:
                raise _unknown(node)
            return name
        if kind in {"PtrDecl", "ArrayDecl"}:
            return self._type(node.type) + "*"
        raise _unknown(node)

    def _block(self, node: Any) -> Iterator[str]:
        """Yield the lines of a body, one step further in."""
        lines = [line for one in _statements(node) for line in self._statement(one)]
        yield from (_INDENT + line for line in lines or ["pass"])

    def _statement(self, node: Any) -> Iterator[str]:
        kind = type(node).__name__
        match kind:
            case "Decl":
                yield from self._declare(node)
            case "Assignment":
                yield self._assign(node)
            case "UnaryOp" if node.op in {"p++", "++"}:
                yield f"{self._value(node.expr)[0]} += 1"
            case "For":
                yield from self._for(node)
            case "If" if node.iffalse is None:
                yield f"if {self._value(node.cond)[0]}:"
                yield from self._block(node.iftrue)
            case "Return":
                yield f"return {self._value(node.expr)[0]}"
            case "FuncCall" if node.name.name == "memcpy":
                yield self._copy(node.args.exprs)
            case "Compound":
                for one in _statements(node):
                    yield from self._statement(one)
            case _:
                raise _unknown(node)

    def _declare(self, node: Any) -> Iterator[str]:
        name, kind = node.name, self._type(node.type)
        self._types[name] = kind
        if type(node.type).__name__ == "ArrayDecl":
            self._sizes[name] = self._value(node.type.dim)[0]
            yield f"{_safe(name)} = np.empty({self._sizes[name]}, np.{'float32' if kind == 'float*' else 'int32'})"
        elif node.init is not None:
            yield f"{_safe(name)} = {self._as(kind, self._value(node.init))}"

    def _assign(self, node: Any) -> str:
        target, kind = self._value(node.lvalue)
        if kind.endswith("*"):
            if node.op != "+=":
                raise _unknown(node)
            return f"{target} = {target}[{self._value(node.rvalue)[0]}:]"
        return f"{target} {node.op} {self._as(kind, self._value(node.rvalue))}"

    def _for(self, node: Any) -> Iterator[str]:
        """Yield a loop that counts up by one; what else its head does at the end of each turn comes last."""
        steps = node.next.exprs if type(node.next).__name__ == "ExprList" else [node.next]
        start, *more = getattr(node.init, "decls", (None,))
        if start is None or more:
            raise _unknown(node)
        counts = type(steps[0]).__name__ == "UnaryOp" and steps[0].op in {"p++", "++"}
        ends = type(node.cond).__name__ == "BinaryOp" and node.cond.op in {"<", "<="}
        if not counts or not ends or {steps[0].expr.name, node.cond.left.name} != {start.name}:
            raise _unknown(node)
        self._types[start.name] = "int"
        end = self._value(node.cond.right)[0] + (" + 1" if node.cond.op == "<=" else "")
        yield f"for {_safe(start.name)} in range({self._value(start.init)[0]}, {end}):"
        yield from self._block(node.stmt)
        for step in steps[1:]:
            yield from (_INDENT + line for line in self._statement(step))

    def _copy(self, given: Sequence[Any]) -> str:
        to, source, size = given
        if type(size).__name__ != "UnaryOp" or size.op != "sizeof" or size.expr.name not in self._sizes:
            raise _unknown(size)
        count = self._sizes[size.expr.name]
        return f"{self._value(to)[0]}[:{count}] = {self._value(source)[0]}[:{count}]"

    def _as(self, kind: str, value: Typed) -> str:
        text, found = value
        return f"F({text})" if kind == "float" and found == "int" else text

    def _value(self, node: Any) -> Typed:
        reader = getattr(self, f"_of_{type(node).__name__}", None)
        if reader is None:
            raise _unknown(node)
        found: Typed = reader(node)
        return found

    def _of_Constant(self, node: Any) -> Typed:  # noqa: N802 - by the names of the parser's nodes, here and below
        return (node.value, "int") if node.type == "int" else (f"F({node.value.rstrip('fF')})", "float")

    def _of_ID(self, node: Any) -> Typed:  # noqa: N802
        if node.name == "INFINITY":
            return "F(np.inf)", "float"
        if node.name not in self._types:
            raise _unknown(node)
        return _safe(node.name), self._types[node.name]

    def _of_ArrayRef(self, node: Any) -> Typed:  # noqa: N802
        text, kind = self._value(node.name)
        return f"{text}[{self._value(node.subscript)[0]}]", kind.removesuffix("*")

    def _of_UnaryOp(self, node: Any) -> Typed:  # noqa: N802
        if node.op != "-":
            raise _unknown(node)
        text, kind = self._value(node.expr)
        return f"(-{text})", kind

    def _of_Cast(self, node: Any) -> Typed:  # noqa: N802
        if self._type(node.to_type.type) != "int":
            raise _unknown(node)
        return f"int({self._value(node.expr)[0]})", "int"

    def _of_FuncCall(self, node: Any) -> Typed:  # noqa: N802
        if node.name.name not in self._calls:
            raise _unknown(node)
        given = ", ".join(self._as("float", self._value(one)) for one in node.args.exprs)
        return f"F({self._calls[node.name.name]}({given}))", "float"

    def _of_TernaryOp(self, node: Any) -> Typed:  # noqa: N802
        one, other = self._value(node.iftrue), self._value(node.iffalse)
        kind = "float" if "float" in {one[1], other[1]} else one[1]
        return f"({self._as(kind, one)} if {self._value(node.cond)[0]} else {self._as(kind, other)})", kind

    def _of_BinaryOp(self, node: Any) -> Typed:  # noqa: N802
        one, other = self._value(node.left), self._value(node.right)
        if one[1].endswith("*") and node.op == "+":
            return f"{one[0]}[{other[0]}:]", one[1]
        kind = "float" if "float" in {one[1], other[1]} else "int"
        if node.op in _COMPARE:
            return f"({one[0]} {node.op} {other[0]})", "bool"
        if node.op not in _ARITHMETIC or (node.op == "/" and kind == "int"):
            raise _unknown(node)
        return f"({self._as(kind, one)} {node.op} {self._as(kind, other)})", kind


def _statements(node: Any) -> Sequence[Any]:
    if type(node).__name__ == "Compound":
        return node.block_items or ()
    return (node,)


def _safe(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name
