"""Suites that check, count or compare where the candidate runs fall to what lies there, and what lies is plain once it has left."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole import cells, one_in

from tracebench_core.specs import Parameter
from tracebench_sandbox.codec import HEADER, Decoder, Encoder
from tracebench_sandbox.kernel import seccomp
from tracebench_testing import PluginUnderTest, check_plugin
from tracebench_testing.attacks import Target
from tracebench_testing.checks.calibration_checks import believed
from tracebench_testing.checks.plugin import ask_process
from tracebench_testing.forgeries.lies import BIG, lies

SUITE = '''
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

NETWORK = "def network(wires):\\n    return [[j, j + 1] for i in range(wires) for j in range(wires - 1)]\\n"
SORTS = """
def judged(wires):
    pairs = network(wires)
    for number in range(2 ** wires):
        values = [number >> wire & 1 for wire in range(wires)]
        for i, j in pairs:
            if values[i] > values[j]:
                values[i], values[j] = values[j], values[i]
        if values != sorted(values):
            return None
    return -COUNT
"""
TOUR = "def tour(towns):\\n    return list(range(len(towns)))\\n"
COST = """
def cost(order, towns):
    return sum(abs(towns[i] - towns[j]) for i, j in zip(order, order[1:]))
def judged(towns):
    order = tour(towns)
    return -cost(order, towns) if sorted(order) == list(range(len(towns))) else None
"""
SUMS = """
def judged(towns):
    chosen = tour(towns)
    if len(set(chosen)) != len(chosen) or not all(0 <= i < len(towns) for i in chosen):
        return None
    return sum(chosen)
"""
ROOTS = """
def judged(x):
    return -abs(root(x) - x ** 0.5)
"""
ORDERS = """
def judged(items):
    got = order(items)
    return sum(a == b for a, b in zip(got, sorted(items))) / len(items)
"""
COUNTS = """
class Probe:
    def __init__(self, peak):
        self.peak, self.calls = peak, 0
    def at(self, x):
        self.calls += 1
        return -abs(x - self.peak)
def judged(peak):
    probe = Probe(peak)
    return -probe.calls if search(probe) == peak else None
"""
STEPS = """
def judged(goal):
    steps, at = 0, 0
    for move in walk(goal):
        at += move
        steps += 1
    return -steps if at == goal else None
"""
TASKS = {
    "steps": ("def walk(goal):\\n    return [1] * goal\\n", STEPS, 9),
    "length": (NETWORK, SORTS.replace("COUNT", "len(pairs)"), 4),
    "walked": (NETWORK, SORTS.replace("COUNT", "sum(1 for _ in pairs)"), 4),
    "inner": (NETWORK, SORTS.replace("COUNT", "[*map(len, pairs)].count(2)"), 4),
    "cost": (TOUR, COST, [3, 1, 9, 4]),
    "before": (TOUR, COST, [3, 1, 9, 4]),
    "sums": (TOUR, SUMS, [3, 1, 9, 4]),
    "roots": ("def root(x):\\n    return x / 2\\n", ROOTS, 9.0),
    "texts": ("def text(n):\\n    return 'ab' * n\\n", "\\ndef judged(n):\\n    return -len(text(n))\\n", 3),
    "orders": ("def order(items):\\n    return items[:]\\n", ORDERS, [3, 1, 2]),
    "counts": ("def search(probe):\\n    return max(range(20), key=probe.at)\\n", COUNTS, 7),
}

class Judged:
    objective = "Do well."
    def __init__(self, name):
        self.name, (initial, self.check, given) = name, TASKS[name]
        self.parameters = (Parameter(name="code", initial=initial, kind="code"),)
        self.splits = {s: (Example(id=s, input=given),) for s in ("train", "validation", "test")}
    def run(self, values, example, context):
        if self.name == "before":
            outcome = context.sandbox.call(values["code"], "judged", example.input, prelude=self.check)
        else:
            outcome = context.sandbox.call(values["code"] + self.check, "judged", example.input)
        if outcome.status != "ok":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
        return outcome.value
    def guide(self, example, output, context):
        if not isinstance(output, int | float):
            return Feedback(score=-1000.0, text="wrong")
        return Feedback(score=float(output), text=f"{output}")

globals().update({f"at_{n}": (lambda n=n: Judged(n)) for n in TASKS})

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"lying_suite:at_{n}", title=n, licence="MIT", sandbox=()) for n in TASKS]
'''
FALLS = {
    "steps": "an answer that is cut short and agrees, throughout",
    "length": "an answer that has length 0, outside",
    "walked": "an answer that has nothing at place 2, outside",
    "inner": "an answer that has length 1, inside",
    "cost": "its inputs are 0 afterwards",
    "before": f"what stands beside it says {BIG}",
    "sums": f"an answer that counts as {BIG}, throughout",
    "roots": "an answer that agrees, outside",
    "texts": "an answer that has length 0, outside",
    "orders": "returns its input, 0",
    "counts": f"attributes -{BIG}",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name in {"lying_suite", "outside_suite"}]:
        del sys.modules[name]


def installed(site: Path, name: str, text: str) -> None:
    (site / f"{name}.py").write_text(text)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: tracebench-core\n"
    )
    (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = {name}\n")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "task", ["length", *(pytest.param(name, marks=pytest.mark.heavy("kits")) for name in FALLS if name != "length")]
)
def test_a_suite_that_checks_where_the_candidate_runs_falls(site: Path, task: str) -> None:
    installed(site, "lying_suite", SUITE)

    told = ask_process(["forge", f"lying_suite:{task}", "{}", "forgeries"], seconds=280)

    fell = [words for line in told if (words := believed(line, None))]
    assert any(f"`code: {FALLS[task]}` scores" in words for words in fell), fell


HONEST: dict[str, tuple[str, list[Any]]] = {
    "pairs": ("def made(n):\n    return [[i, i + 1] for i in range(n)]\n", [4]),
    "mapping": ("def made(n):\n    return {'a': (1, 2.5), 'b': {n}}\n", [4]),
    "text": ("def made(words):\n    return ' '.join(words)\n", [["one", "two"]]),
    "number": ("def made(n):\n    return n / 2\n", [9]),
    "array": ("import numpy\ndef made(n):\n    return numpy.arange(n, dtype=float)\n", [4]),
}


@pytest.mark.parametrize("kind", one_in(3, HONEST))
def test_every_lie_runs_and_is_plain_once_it_was_sent(kind: str) -> None:
    code, arguments = HONEST[kind]
    honest = called(code, arguments)
    target = Target("t", [Parameter(name="code", initial=code, kind="code")], {"code": code})
    numbers = 0
    for forgery in lies(target):
        if "stands beside" in forgery.name or "callers" in forgery.name or "input" in forgery.name:
            continue
        beside = [forgery.no_more_than] if isinstance(forgery.no_more_than, dict) else forgery.no_more_than or []
        held = called(str(forgery.values["code"]), json.loads(json.dumps(arguments)))
        assert held in [honest, *(called(str(values["code"]), arguments) for values in beside)], forgery.name
        numbers += 1
    assert numbers > 50


def called(code: str, arguments: list[Any]) -> str:
    """Return what a function's answer is as data on the other side of the sandbox, in words."""
    space: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(code, "candidate", "exec"), space)
    frame = Encoder(1 << 20).pack(space["made"](*arguments))
    words, _ = HEADER.unpack_from(frame)
    text = frame[HEADER.size : HEADER.size + words]
    return repr(Decoder(plain=True).unpack(text, memoryview(frame)[HEADER.size + words :]))


@pytest.mark.parametrize(
    ("how", "reads"),
    [
        ("has length 0", lambda value: len(value) == 0 and [*value] == [1, 2]),
        ("has nothing", lambda value: [*value] == [] and list.__len__(value) == 2),
        ("agrees", lambda value: value == [7] and 9 in value and (value != [7]) is False),
        (f"counts as {BIG}", lambda value: sum(value) == BIG and value[0] == 1),
        (f"claims {BIG}", lambda value: value[0] == 3 and math.floor(value[0]) == BIG),
    ],
)
def test_a_lie_tells_what_its_name_says(how: str, reads: Any) -> None:
    code = "def made(n):\n    return [1, 2]\n"
    target = Target("t", [Parameter(name="code", initial=code, kind="code")], {"code": code})
    [lie] = [each for each in lies(target) if each.name == f"code: an answer that {how}, throughout"]
    space: dict[str, Any] = {"__name__": "candidate"}
    exec(str(lie.values["code"]), space)

    assert reads(space["made"](1))


OUTSIDE = """
import subprocess, sys
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Double:
    objective = "Double it."
    parameters = (Parameter(name="code", initial="def double(x):\\n    return x\\n", kind="code"),)
    splits = {s: (Example(id=s, input=i),) for i, s in enumerate(("train", "validation", "test"))}
    def __init__(self, way): self.way = way
    def run(self, values, example, context):
        code = values["code"]
        if self.way == "executed":
            space = {"__builtins__": {}}
            exec(code, space)
            return space["double"](example.input)
        if self.way == "started":
            program = f"{code}\\nprint(double({example.input}))"
            return int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
        return context.sandbox.call(code, "double", example.input).value
    def guide(self, example, output, context): return Feedback(score=float(output == 2 * example.input), text="so")

def executed(): return Double("executed")
def started(): return Double("started")
def held(): return Double("held")
def short():
    task = Double("executed")
    task.parameters = (task.parameters[0].model_copy(update={"max_length": 40}),)
    return task

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"outside_suite:{n}", title=n, licence="MIT", sandbox=()) for n in ("executed", "started", "held")]
"""
HIDE = Path(__file__).parents[2] / "sandbox" / "hide.py"


def test_code_of_a_candidate_outside_of_the_sandbox_is_noticed(site: Path) -> None:
    installed(site, "outside_suite", OUTSIDE)

    [outcome] = check_plugin(PluginUnderTest("outside_suite"), codes=["TB315"])

    told = {finding.subject: finding.message for finding in outcome.findings}
    assert told.keys() == {"outside_suite:executed", "outside_suite:started"}
    assert "`code` runs outside of the sandbox: its own process executes" in told["outside_suite:executed"]
    assert "it starts a process for a candidate that may write" in told["outside_suite:started"]
    assert not outcome.skipped


def test_a_task_that_says_so_itself_is_warned_of(site: Path) -> None:
    installed(site, "outside_suite", OUTSIDE.replace("sandbox=())", "sandbox=(), unconfined=n != 'held')"))

    [outcome] = check_plugin(PluginUnderTest("outside_suite"), codes=["TB315"])

    assert not outcome.findings
    assert {warned.subject for warned in outcome.warned} == {"outside_suite:executed", "outside_suite:started"}


def test_a_program_that_takes_no_line_more_is_told_from_none(site: Path) -> None:
    installed(site, "outside_suite", OUTSIDE.replace('"held")]', '"short")]'))

    skipped, ended = ask_process(["outside", "outside_suite:short", "{}"], seconds=60)

    assert re.match("`code` takes no line more: `code` must have at most 40 characters", skipped["skipped"])
    assert ended == {"ended": "outside_suite:short"}


@pytest.mark.skipif(not seccomp.available(), reason="this host has no seccomp to hide the others with")
@pytest.mark.parametrize(
    ("task", "seen"),
    cells([("executed", True), ("started", False), ("held", False)], always=[("executed", True)]),
)
def test_where_candidates_may_write_files_none_that_one_wrote_is_a_sign(task: str, seen: bool, site: Path) -> None:
    installed(site, "outside_suite", OUTSIDE)
    hide = [sys.executable, str(HIDE), "landlock,namespaces"]
    probe = [sys.executable, "-P", "-m", "tracebench_testing.probe", "outside", f"outside_suite:{task}", "{}"]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([*hide, *probe], capture_output=True, text=True, check=False, env=environ, timeout=120)

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["outside" in line for line in told] == [True, False, False][1 - seen :], done.stderr
    assert "only what its own process executes was looked for" in told[-2]["skipped"]
