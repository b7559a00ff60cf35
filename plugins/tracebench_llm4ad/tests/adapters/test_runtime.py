"""What runs beside a foreign evaluator: what it returned as plain data, its graphs and rows, its stand-ins, and the candidate's calls."""

from __future__ import annotations

import importlib
import json
import math
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from tracebench_llm4ad.adapters.runtime import loading, shims, together
from tracebench_llm4ad.adapters.runtime.graphs import Graph, read_graphs
from tracebench_llm4ad.adapters.runtime.loading import first_function, load, read_rows
from tracebench_llm4ad.adapters.runtime.results import average, report
from tracebench_llm4ad.adapters.server import Door, Gone, PassedOn, Repeated, _told, serve

NONE = "The evaluator returned no score (None): it rejects the program."


class Vector:
    """Has `tolist`, as arrays do."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def tolist(self) -> Any:
        """Return plain data."""
        return self._value


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, {"refused": NONE}),
        (2, {"values": [2.0], "metrics": {}, "text": ""}),
        ([1, 2.5], {"values": [1.0, 2.5], "metrics": {}, "text": ""}),
        ((1, 2), {"values": [1.0, 2.0], "metrics": {}, "text": ""}),
        ((1, "in words"), {"values": [1.0], "metrics": {}, "text": "in words"}),
        ((Vector([1, 2]), {"a": 1}), {"values": [1.0, 2.0], "metrics": {}, "text": "{'a': 1}"}),
        ((1, 2, "x"), {"refused": "The evaluator returned tuple `(1, 2, 'x')`, which is no score."}),
        (Vector(3), {"values": [3.0], "metrics": {}, "text": ""}),
        ({"score": 1, "speed": 2, "note": "x", "ok": True, "far": math.inf}, {"values": [1.0], "metrics": {"speed": 2.0}, "text": ""}),
        ({"score": [1, 2], 3: 4}, {"values": [1.0, 2.0], "metrics": {"3": 4.0}, "text": ""}),
        ({"speed": 2}, {"refused": "The evaluator returned NoneType `None`, which is no score."}),
        (True, {"refused": "The evaluator returned bool `True`, which is no score."}),
        ("7", {"refused": "The evaluator returned str `7`, which is no score."}),
        (b"7", {"refused": "The evaluator returned bytes `b'7'`, which is no score."}),
        ([], {"refused": "The evaluator returned list `[]`, which is no score."}),
        ("x" * 99, {"refused": f"The evaluator returned str `{'x' * 80}`, which is no score."}),
        (10**400, {"refused": f"The evaluator returned int `1{'0' * 79}`, which is no score."}),
        ([1, math.nan], {"refused": "The evaluator returned [1.0, nan]: it rejects the program."}),
        (-math.inf, {"refused": "The evaluator returned [-inf]: it rejects the program."}),
    ],
)  # fmt: skip
def test_what_an_evaluator_returns_is_a_vector_or_a_reason(result: Any, told: dict[str, Any]) -> None:
    assert report(result) == told


def test_reports_of_repeats_are_averaged_unless_one_is_a_refusal() -> None:
    one = {"values": [1.0, 2.0], "metrics": {"b": 1.0, "a": 2.0, "alone": 9.0}, "text": "first"}
    two = {"values": [3.0, 6.0], "metrics": {"a": 4.0, "b": 0.0}, "text": "second"}
    assert average([one, two]) == {"values": [2.0, 4.0], "metrics": {"a": 3.0, "b": 0.5}, "text": "first"}
    assert average([one]) == one
    assert average([one, {"refused": "x"}, {"refused": "y"}]) == {"refused": "x"}
    with pytest.raises(ValueError, match="shorter"):
        average([one, {**two, "values": [1.0]}])


def test_graphs_come_from_texts_by_their_place() -> None:
    texts = {
        "a/one": json.dumps({"nodes": 3, "edges": [[0, 1], [2, 1]]}),
        "two": json.dumps({"nodes": [5, 7], "edges": []}),
        "a/b/three": json.dumps({"nodes": 1, "edges": []}),
    }
    found = read_graphs(texts)
    assert {folder: [*files] for folder, files in found.items()} == {"a": ["one"], "er_test": ["two"], "a/b": ["three"]}
    graph = found["a"]["one"]
    assert graph == {0: {1}, 1: {0, 2}, 2: {1}}
    assert (graph.nodes(), graph.edges(), [*graph.neighbors(1)]) == ([0, 1, 2], [(0, 1), (1, 2)], [0, 2])
    assert [graph.has_edge(*pair) for pair in ((0, 1), (1, 0), (0, 2), (9, 0))] == [True, True, False, False]
    assert isinstance(graph, Graph)
    with pytest.raises(RuntimeError, match=r"^there are no graphs for `x` \(TRACEBENCH_COBENCH_DATA\)$"):
        loading.read_graphs({"graphs": {}}, "x")
    assert loading.read_graphs({"graphs": texts}, "x") == found


def test_rows_are_the_lines_of_the_text_files_of_the_folder_that_is_meant(tmp_path: Path) -> None:
    folder = tmp_path / "Bin packing (2D)"
    (folder / "sub").mkdir(parents=True)
    for name in ("b.txt", "a", "c.col", "d.tsp", "e.dat", "code.py", "f.pickle"):
        (folder / name).write_bytes(b"one\ntwo \xff\n")
    (tmp_path / "binpacking2d").write_text("no folder")
    rows = read_rows(str(tmp_path), "bin-packing_2d")
    assert [*rows] == ["a", "b.txt", "c.col", "d.tsp", "e.dat"]
    assert rows["a"] == [{"text": "one"}, {"text": "two \N{REPLACEMENT CHARACTER}"}]
    for data, name in ((str(tmp_path), "bin packing"), (None, "x"), (str(tmp_path / "gone"), "x")):
        with pytest.raises(FileNotFoundError) as caught:
            read_rows(data, name)
        assert str(caught.value) == f"no folder `{name}` in the data of CO-Bench (TRACEBENCH_COBENCH_DATA)"


def test_a_programs_first_function_is_its_entry() -> None:
    assert first_function("import a\nclass B:\n    def no(self): ...\ndef yes(): ...\ndef other(): ...\n") == "yes"
    with pytest.raises(ValueError, match=r"^the task's starting program defines no function$"):
        first_function("x = lambda: 1\n")


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back what stand-ins change of this process."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    with patch.dict(sys.modules):
        for name in [name for name in sys.modules if name.partition(".")[0] in {"matplotlib", "opto", "llm4ad_loader"}]:
            del sys.modules[name]
        yield


def test_what_tasks_import_and_do_not_need_is_nothing(surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, graphs = (lambda *_: "rows"), (lambda *_: "graphs")
    shims.install(read_rows=rows, read_graphs=graphs)
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 2)
    assert isinstance(axes[0].set_title("x").at.all, shims.Nothing)
    assert isinstance(figure, shims.Nothing)
    for thing in (pyplot, figure):
        with pytest.raises(AttributeError, match="__wrapped__"):
            thing.__wrapped__  # noqa: B018 - it is not there
    trace: Any = importlib.import_module("opto.trace")
    node = trace.node([1], name="n", description="d", other=2)
    assert (node.data, node.name, node.description, node.trainable) == ([1], "n", "d", False)
    assert trace.ParameterNode(2).trainable
    assert trace.nodes.node is trace.node
    assert trace.bundle(trainable=True)(len) is len
    assert sys.modules["opto"].trace is trace
    guide: Any = importlib.import_module("opto.trainer.guide")
    assert guide.Guide(1, a=2).options == {"a": 2}
    loader: Any = importlib.import_module("llm4ad_loader")
    assert (loader.load_subdir_as_text(), loader.load_subdir_as_pickle()) == ("rows", "graphs")
    held = loader.AutonomousEvaluatorGuide("e", "entry", "import a", 3.0)
    assert (held.evaluator, held.entry, held.import_header, held.timeout, held.options) == (
        "e",
        "entry",
        "import a",
        3.0,
        {},
    )


def test_the_base_class_of_evaluators_keeps_its_settings() -> None:
    class Own(shims.Evaluation):
        def evaluate_program(self, program_str: str, callable_func: Any, **kwargs: Any) -> Any:
            return None

    own = Own("p", "d", "more", timeout_seconds=7, seed=3)
    assert (own.template_program, own.task_description, own.timeout_seconds, own.kwargs) == ("p", "d", 7, {"seed": 3})
    assert Own().timeout_seconds == 30
    base: Any = shims.Evaluation
    with pytest.raises(TypeError, match="abstract"):
        base()


def test_a_hub_that_is_not_here_refuses_when_it_is_asked() -> None:
    with pytest.raises(
        RuntimeError, match=r"^this task would fetch its data from a hub; give their folder as TRACEBENCH_COBENCH_DATA$"
    ):
        shims._no_hub("x", a=1)
    assert shims._same([1], desc="x") == [1]


class Environment:
    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int | None, Any]:
        """Return what it was given."""
        return seed, options


def test_the_old_gym_is_gymnasium_whose_resets_are_numbered(surroundings: None) -> None:
    made: list[Any] = []

    def make(*args: Any, **kwargs: Any) -> Environment:
        made.append((args, kwargs))
        return Environment()

    gymnasium: Any = ModuleType("gymnasium")
    gymnasium.make = make
    sys.modules["gymnasium"] = gymnasium
    shims.seed_resets(5)
    shims.mend_loaded_gymnasium()
    sys.meta_path.insert(0, shims._GymFinder())
    sys.modules.pop("gym", None)
    gym: Any = importlib.import_module("gym")
    assert gym is gymnasium
    one, two = gym.make("LunarLander-v2", 1, a=2), gym.make("CartPole-v1")
    assert made == [(("LunarLander-v3", 1), {"a": 2}), (("CartPole-v1",), {})]
    assert [one.reset(), two.reset(options={"x": 1}), one.reset(seed=99), two.reset()] == [
        (5, None), (6, {"x": 1}), (99, None), (7, None),
    ]  # fmt: skip
    shims.seed_resets(2**31 + 3)
    assert gym.make("x").reset()[0] == 3
    assert shims._GymFinder().find_spec("gymnasium") is None


BENCH = """
import random
from llm4ad_loader import AutonomousEvaluatorGuide, Evaluation
from opto import trace

class Evaluator(Evaluation):
    def evaluate_program(self, program_str, callable_func, **kwargs):
        if callable_func(1) < 0:
            return None
        return {{"score": callable_func(2) + self.kwargs["more"], "drawn": random.random(), "long": len(program_str)}}

def build_trace_problem(**kwargs):
    evaluator = Evaluator("", "", timeout_seconds=9, **kwargs)
    return {{
        "guide": AutonomousEvaluatorGuide(evaluator, "f"), "param": trace.node("def f(x):\\n    return x\\n"),
        "train_dataset": {{"infos": [{{"imports": "import math"}}], "inputs": ["the query"]}}, "metadata": {metadata},
    }}
"""


def bench(folder: Path, *, metadata: str = '{"entry": "g"}', text: str = "") -> dict[str, Any]:
    folder.mkdir()
    (folder / "__init__.py").write_text(text or BENCH.format(metadata=metadata))
    return {"layout": "bench", "folder": str(folder), "kwargs": {"more": 10}, "data": None, "graphs": {}}


def test_a_task_of_the_bench_is_loaded_with_what_it_says_of_itself(surroundings: None, tmp_path: Path) -> None:
    foreign = load(bench(tmp_path / "task_of_a_bench"))
    assert foreign.facts == {
        "program": "def f(x):\n    return x\n", "entry": "g", "header": "import math", "info": {"imports": "import math"},
        "query": "the query", "kind": "evaluator", "timeout": 9, "description": "",
    }  # fmt: skip
    reports = [foreign.evaluate("text", lambda x: x, seed=seed, repeats=1) for seed in (3, 3, 4)]
    assert reports[0]["values"] == [12.0]
    assert reports[0]["metrics"]["long"] == 4.0
    assert reports[0] == reports[1] != reports[2]
    drawn = [foreign.evaluate("", lambda x: x, seed=seed, repeats=1)["metrics"]["drawn"] for seed in (3, 4)]
    both = foreign.evaluate("", lambda x: x, seed=3, repeats=2)["metrics"]["drawn"]
    assert both == pytest.approx(sum(drawn) / 2), "each repeat has a seed of its own"


def test_a_task_that_names_no_entry_has_its_first_function(surroundings: None, tmp_path: Path) -> None:
    assert load(bench(tmp_path / "task_without_entry", metadata="None")).facts["entry"] == "f"


def test_a_program_that_is_rejected_is_told_the_rule_where_that_is_asked_for(
    surroundings: None, tmp_path: Path
) -> None:
    foreign = load(bench(tmp_path / "task_that_rejects"))
    refused = foreign.evaluate("", lambda x: -x, seed=1, repeats=3)["refused"]
    assert refused == f"{NONE} The rule of the evaluator: `callable_func(1) < 0` in `evaluate_program`."
    assert foreign.evaluate("", lambda x: -x, seed=1, repeats=1, explained=False) == {"refused": NONE}


def test_the_cases_of_a_loader_get_the_keys_that_an_evaluator_misses(surroundings: None, tmp_path: Path) -> None:
    class Owner:
        def __init__(self) -> None:
            self.cases: Any = [{"a": 1}, {"b": 2}]

        def load_data(self) -> Any:
            """Return what it has."""
            return self.cases

    owner = Owner()
    foreign = loading.Foreign(owner, {}, folder=str(tmp_path))
    foreign.rename({})
    assert owner.load_data() == [{"a": 1}, {"b": 2}]
    foreign.rename({"missing": "a"})
    assert owner.load_data() == [{"a": 1, "missing": 1}, {"b": 2}]
    owner.cases = {"a": 1}
    assert owner.load_data() == {"a": 1}
    loading.Foreign(object(), {}, folder=str(tmp_path)).rename({"missing": "a"})


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def g(x):\n    return x * half", {"values": [11.0]}),
        ("def f(x):\n    return x", {"refused": "The code defines no function `g`."}),
        ("g = 3", {"refused": "The code defines no function `g`."}),
        ("def g(x):\n    return 1 / 0", {"error": "ZeroDivisionError: division by zero (line 2 of the program, in g)"}),
        (
            "'''Mine.'''\nfrom __future__ import annotations\ndef g(x: Any) -> Any:\n    return x * half",
            {"values": [11.0]},
        ),
        ("raise SystemExit(4)", {"error": "SystemExit: 4 (line 1 of the program, in <module>)"}),
    ],
)
def test_a_candidate_beside_its_evaluator_is_reported_in_one_line(  # noqa: PLR0917 - fixtures, and columns
    surroundings: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: str,
    told: dict[str, Any],
) -> None:
    order = bench(tmp_path / "task_beside") | {
        "prelude": "half = 0.5",
        "code": code,
        "seed": 1,
        "repeats": 1,
        "written_back": None,
    }
    (tmp_path / "order.json").write_text(json.dumps(order))
    monkeypatch.chdir(tmp_path)
    together.main()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(together.MARK)
    found = json.loads(last.removeprefix(together.MARK))
    assert {name: found[name] for name in told} == told


def test_a_task_that_cannot_be_loaded_is_broken(
    surroundings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "order.json").write_text(json.dumps(bench(tmp_path / "broken_task", text="raise SystemExit('no')")))
    monkeypatch.chdir(tmp_path)
    together.main()
    assert capsys.readouterr().out == f'\n{together.MARK}{{"broken": "SystemExit: no"}}\n'


def test_a_call_of_the_candidate_goes_out_and_its_value_comes_back() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        door, other = Door(ours.fileno()), Door(theirs.fileno())
        heard: list[Any] = []

        def answer() -> None:
            for value in (7, (8, [9, 9])):
                heard.append(other.receive())
                other.send({"value": value})

        answering = threading.Thread(target=answer)
        answering.start()
        assert PassedOn(door, ["a", "b", "c"], written_back=None)(1, c=3, b=2) == 7
        given = [0, 0]
        assert PassedOn(door, ["a", "b"], written_back=1)("x", given) == 8
        answering.join()
        assert given == [9, 9]
        assert heard == [{"call": [1, 2, 3]}, {"call": ["x", [0, 0]]}]
        with pytest.raises(TypeError) as caught:
            PassedOn(door, ["a"], written_back=None)(1, z=2, y=3)
        assert str(caught.value) == "the evaluator uses keyword arguments that the function does not have: ['y', 'z']"


def test_answers_that_are_known_are_given_again_and_no_more_than_they_are() -> None:
    again = Repeated([1, 2], written_back=None)
    assert [again("any"), again(x=1)] == [1, 2]
    with pytest.raises(RuntimeError, match=r"^the evaluator asks for more answers than the program gave before$"):
        again()
    given = [0, 0]
    assert Repeated([(3, [1, 2])], written_back=0)(given) == 3
    assert given == [1, 2]


def test_what_failed_is_told_with_its_last_line() -> None:
    try:
        first_function("")
    except ValueError as err:
        told = _told(err)
    assert told.startswith("ValueError: the task's starting program defines no function (line ")
    assert told.endswith(" of `loading.py`)")
    assert _told(ValueError("x")) == "ValueError: x"


@pytest.mark.parametrize(
    ("code", "both"),
    [
        ("x = 1", "P\nx = 1"),
        ("\"Doc.\"\nfrom __future__ import annotations\n\nx = 1", "\"Doc.\"\nfrom __future__ import annotations\nP\n\nx = 1"),
        ("from __future__ import (\r\n    annotations,\r\n)\r\nx = 1", "from __future__ import (\n    annotations,\n)\nP\nx = 1"),
        ("from math import pi\nx = 1", "P\nfrom math import pi\nx = 1"),
        ("x = (", "P\nx = ("),
        ("x = '\0'", "P\nx = '\0'"),
    ],
)  # fmt: skip
def test_what_must_come_first_in_a_program_does(code: str, both: str) -> None:
    assert together.whole("P", code) == both


SERVED = """
import os, signal
from llm4ad_loader import AutonomousEvaluatorGuide, Evaluation
from opto import trace

class Evaluator(Evaluation):
    def evaluate_program(self, program_str, callable_func, **kwargs):
        what = callable_func(1)
        if what == "eof":
            raise EOFError("Ran out of input")
        if what == "pipe":
            raise BrokenPipeError("its own")
        if what == "swallowed":
            try:
                return callable_func(2)
            except Exception:
                return None
        if what == "half":
            return 1, "half of a pair: \\ud800"
        if what == "half raised":
            raise ValueError("\\ud800")
        if what == "object":
            return callable_func(object())
        if what == "ended":
            os._exit(0)
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return what

def build_trace_problem(**kwargs):
    guide = AutonomousEvaluatorGuide(Evaluator("", ""), "f")
    data = {"infos": [{"imports": "", "check": print}]}
    return {"guide": guide, "param": trace.node("def f(x):\\n    return x\\n"), "train_dataset": data}
"""


def served(order: dict[str, Any], *messages: Any) -> list[Any]:
    """Return what a server sends that hears these messages, and then that the other side has closed."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        other = Door(theirs.fileno())
        for message in (order, *messages):
            other.send(message)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(Gone):
            serve(Door(ours.fileno()))
        ours.close()
        said = []
        while True:
            try:
                said.append(other.receive())
            except Gone:
                return said


def asked(
    *values: Any, answers: list[Any] | None = None, repeats: int = 1, written_back: int | None = None
) -> list[Any]:
    """Return a request, and the values of the calls that it leads to."""
    request = {"seed": 1, "repeats": repeats, "names": ["x"], "written_back": written_back, "answers": answers}
    return [request, *({"value": value} for value in values)]


CALL = {"call": [1]}
SAID = {
    2.5: {"values": [2.5], "metrics": {}, "text": ""},
    "eof": {"error": "EOFError: Ran out of input (line 10 of `__init__.py`)"},
    "pipe": {"error": "BrokenPipeError: its own (line 12 of `__init__.py`)"},
    "half": {"error": "The evaluator's report holds half of a surrogate pair, which is no text."},
    "half raised": {"error": "ValueError: \\ud800 (line 21 of `__init__.py`)"},
    "ended": {"crashed": "The evaluator's process ended without a report (exit code 0)."},
    "killed": {"crashed": "The evaluator's process ended without a report (signal 9)."},
    7.0: {"values": [7.0], "metrics": {}, "text": ""},
}
"""By what the candidate answers: what is reported."""


def test_whatever_an_evaluator_does_there_is_a_report_and_the_next_is_fresh(surroundings: None, tmp_path: Path) -> None:
    requests = [message for value in SAID for message in asked(value)]
    facts, *spoken = served(bench(tmp_path / "served", text=SERVED), *requests, *asked("object"), *asked(answers=[8]))
    assert facts["facts"]["program"] == "def f(x):\n    return x\n"
    assert "info" not in facts["facts"], "it may hold what is no data"
    *spoken, _, no_data, last = spoken
    assert spoken == [message for said in SAID.values() for message in (CALL, {"report": said})]
    assert no_data["report"]["crashed"].startswith("An argument of the function ")
    assert no_data["report"]["crashed"].endswith(": this task can only be evaluated with `where: together`.")
    assert last == {"report": {"values": [8.0], "metrics": {}, "text": ""}}


def test_an_evaluator_whose_other_side_has_closed_says_nothing_more(surroundings: None, tmp_path: Path) -> None:
    _, *spoken = served(bench(tmp_path / "served", text=SERVED), *asked("swallowed"))
    assert spoken[:2] == [CALL, {"call": [2]}]
    assert all("crashed" in message["report"] for message in spoken[2:]), "no score of a program that was not asked"


def test_a_server_tells_why_a_task_is_broken_and_ends(surroundings: None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Door(theirs.fileno()).send({"layout": "bench"})
        serve(Door(ours.fileno()))
        assert Door(theirs.fileno()).receive()["broken"].startswith("KeyError: 'folder' (line ")
