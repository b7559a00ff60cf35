"""What the core's own suites must score: right answers, published figures, answers in order, and what cheats would return."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.contracts import Task
from tracebench_core.specs import Calibration, Values
from tracebench_engine.builtin.tasks.convex import answers as points
from tracebench_engine.builtin.tasks.examples import GREETINGS, WANTED, single_node_answers

RIGHT = "def transform(x):\n    return 2 * x + 1\n"
CHEATS = {
    "infinite": "    return float('inf')",
    "not-a-number": "    return float('nan')",
    "a-text": "    return str(2 * x + 1)",
    "always-equal": (
        "    class Equal(float):\n        __eq__ = lambda *_: True\n        __sub__ = __rsub__ = lambda *_: 0.0\n"
        "        __abs__ = lambda self: 0.0\n    return Equal(7)"
    ),
    "callers": (
        "    import sys\n    frame = sys._getframe()\n    while frame:\n"
        "        frame.f_locals.update(reference=x, score=9.0, off=0)\n        frame = frame.f_back\n    return x"
    ),
    "patched": "    import builtins, math\n    builtins.abs = math.fabs = lambda _: 0\n    return x",
}
"""Bodies of `transform`, none of which returns what it should."""


def internal(name: str, _task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite `internal`."""
    if name == "code_param":
        yield Calibration(name="right", kind="gold", values={"code": RIGHT}, expected=1.0, source="by construction")
        yield Calibration(name="renamed", kind="form", values={"code": RIGHT.replace("x", "value")}, other="right")
        for cheat, body in CHEATS.items():
            yield Calibration(name=cheat, kind="forged", values={"code": f"def transform(x):\n{body}\n"}, expected=0.5)
    elif name == "numeric_param":
        yield Calibration(name="target", kind="gold", values={"x": 3.0}, expected=0.0, source="by construction")
        yield Calibration(name="far", kind="known", values={"x": -2.0}, expected=-5.0, source="by construction")
        yield Calibration(name="beyond", kind="refused", values={"x": 1e6}, words="at most 100")
    elif name == "multi_param":
        yield Calibration(name="sum", kind="gold", values={"a": 0.5, "b": 2.5}, expected=0.0, source="by construction")
        yield Calibration(name="exchanged", kind="form", values={"a": 2.5, "b": 0.5}, other="sum")
        yield Calibration(name="far", kind="order", values={"a": 0.5, "b": 2.25}, other="farther")
        yield Calibration(name="farther", kind="known", values={"a": 0.0, "b": 0.0}, expected=-3.0)
    elif name == "multiobjective_convex":
        yield from _convex()


def _convex() -> Iterator[Calibration]:
    camel = {"metric": "base_loss", "expected": -1.0316, "abs_tol": 5e-5, "source": "Dixon and Szegö 1978"}
    yield Calibration.model_validate({"name": "camel", "kind": "gold", "values": {"x": 0.0898, "y": -0.7126}} | camel)
    yield Calibration.model_validate(
        {"name": "camel-mirrored", "kind": "known", "values": {"x": -0.0898, "y": 0.7126}} | camel
    )
    yield Calibration(name="origin", kind="known", values={"x": 0.0, "y": 0.0}, expected=0.0, metric="reg_loss")
    worst, better, best = points({})
    yield Calibration(name="best", kind="order", values=best, other="better")
    yield Calibration(name="better", kind="order", values=better, other="worst")
    yield Calibration(name="worst", kind="known", values=worst, expected=-0.455179167, abs_tol=1e-8)


def trace_examples(name: str, _task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite `trace_examples`."""
    if name == "greeting_stub":
        table: Values = dict(GREETINGS["train"])
        yield Calibration(name="table", kind="gold", values={"greetings": table}, expected=1.0)
        yield Calibration(name="table-on-test", kind="gold", values={"greetings": table}, expected=1.0, split="test")
        yield Calibration(name="more-keys", kind="form", values={"greetings": table | {"Latin": "Ave"}}, other="table")
        loud: Values = {language: word.upper() for language, word in GREETINGS["train"].items()}
        yield Calibration(name="other-case", kind="known", values={"greetings": loud}, expected=0.0)
    elif name == "train_single_node_stub":
        yield Calibration(name="wanted", kind="gold", values={"text": WANTED}, expected=1.0)
        yield Calibration(name="near", kind="order", values=single_node_answers({})[0], other="start")
        yield Calibration(name="start", kind="known", values={"text": "help"}, expected=2 * 3 / 9, abs_tol=1e-9)
