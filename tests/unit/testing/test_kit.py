"""Each check of the kit fails for a plugin with just the fault that it looks for, and all pass for a sound one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tracebench_core.errors import ModelError
from tracebench_core.plugins.discovery import core_version
from tracebench_core.specs import Example
from tracebench_engine.api.checking import Skipped
from tracebench_engine.builtin.hosting import open_host
from tracebench_testing import CHECKS, FakeModel, PluginUnderTest, SuiteConformance, check_plugin
from tracebench_testing.checks import executor_checks
from tracebench_testing.checks.plugin import ask_process
from tracebench_testing.checks.plugin_checks import _is_bounded
from tracebench_testing.checks.task_checks import _content
from tracebench_testing.conformance import Conformance
from tracebench_testing.kit import reference

ROOT = Path(__file__).parents[3]
PLUGIN = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *
@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="t", loader="{module}_task:task", title="T", licence="MIT"{more})]
{hooks}
"""
TASK = """
import random
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Example, Feedback, Parameter
class Task:
    objective = "Bring x to 3."
    parameters = (Parameter(name="x", initial=0.0, kind="number", minimum=-10, maximum=10),)
    splits = {s: tuple(Example(id=f"{s}-{i}", input=f"{s}-{i}") for i in range(4)) for s in ("train", "validation", "test")}
    def run(self, values, example, context):
        return float(values["x"])
    def guide(self, example, output, context):
        return Feedback(score=-abs(output - 3), text=f"off by {abs(output - 3)}", metrics={"off": abs(output - 3)})
def task():
    return Task()
def answers(options):
    return [{"x": 1.0}, {"x": 3.0}]
"""
GUIDE = """
from tracebench_core.specs import Feedback
def guide(task):
    def score(example, output, context):
        return Feedback(score=float(len(str(output))), text="long")
    return score
def strict(task):
    def score(example, output, context):
        return Feedback(score=output + 1.0, text="one more")
    return score
class Proposes:
    def __init__(self, problem): self.problem = problem
    def propose(self, evaluations, *, n=1):
        self.problem.complete([{"role": "user", "content": "Better?"}])
        return [dict(evaluations[-1].candidate.values)]
class Breaks(Proposes):
    def propose(self, evaluations, *, n=1):
        answer = self.problem.complete([{"role": "user", "content": "Better?"}])[0].text
        return [{"nobody": 1}] if answer.startswith("I see") else []
class Trusts(Proposes):
    def propose(self, evaluations, *, n=1):
        answer = self.problem.complete([{"role": "user", "content": "Better?"}])[0].text
        return [] if answer.startswith("I see") else [][0]
class Log:
    def __init__(self, job_dir): self.file = (job_dir / "log.txt").open("a")
    def __call__(self, event): self.file.write(event.kind + "\\n")
    def close(self): self.file.close()
class Truncates(Log):
    def __init__(self, job_dir): self.file = (job_dir / "log.txt").open("w")
    def __call__(self, event):
        if self.file.tell() == 0 and event.seq < 2: self.file.write("x" * 10_000)
class Room:
    def open(self, context): return {"path": str(context.workdir)}
    def close(self): ...
class Wild(Room):
    def open(self, context): return object()
"""
PARTS = """
@hookimpl
def tracebench_guides(): return [GuideSpec(name="guide", loader="{module}_parts:guide")]
@hookimpl
def tracebench_optimizers(): return [OptimizerSpec(name="Proposes", loader="{module}_parts:Proposes")]
@hookimpl
def tracebench_loggers(): return [LoggerSpec(name="Log", loader="{module}_parts:Log")]
@hookimpl
def tracebench_environments():
    return [EnvironmentSpec(name="room", kind="folder", scope="evaluation", loader="{module}_parts:Room")]
"""
MAJOR, MINOR = (int(part) for part in core_version().split(".")[:2])
REQUIRES = f"tracebench-core>={MAJOR}.{MINOR},<{MAJOR}.{MINOR + 1}"


class Made:
    """A plugin written to disk, sound but for what a test changes."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.name = folder, f"kit{number}"

    def write(
        self, *, requires: str = REQUIRES, old: str = "", new: str = "", announced: str = "Proposes", more: str = ""
    ) -> PluginUnderTest:
        """Write the distribution, with `old` replaced by `new` wherever it stands."""
        sources = {
            self.name: PLUGIN.replace("{more}", more).replace("{hooks}", PARTS),
            f"{self.name}_task": TASK,
            f"{self.name}_parts": GUIDE,
        }
        assert not old or any(old in text for text in sources.values())
        for module, text in sources.items():
            changed = text.replace(old, new) if old else text
            (self.folder / f"{module}.py").write_text(changed.replace("{module}", self.name))
        info = self.folder / f"{self.name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: 1.0\n"
            + (f"Requires-Dist: {requires}\n" if requires else "")
        )
        (info / "entry_points.txt").write_text(
            f"[tracebench]\n{self.name} = {self.name}\n[tracebench.index]\n{announced} = {self.name}\n"
        )
        return PluginUnderTest(self.name)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Made]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {*sys.modules}
    yield Made(tmp_path, abs(hash(request.node.name)) % 10**8)
    for name in {*sys.modules} - before:
        if name.startswith("kit"):
            del sys.modules[name]


MEASURED = ["TB301", "TB302", "TB303", "TB304", "TB306"]
QUICK = [code for code, check in CHECKS.items() if check.about != "trainer" and code not in MEASURED]


@pytest.mark.parametrize(
    "codes", [QUICK, pytest.param(MEASURED, marks=pytest.mark.heavy("kits"))], ids=["quick", "measured"]
)
def test_a_sound_plugin_passes_every_check(made: Made, codes: list[str]) -> None:
    plugin = made.write(more=', answers="{module}_task:answers", metric="off"')

    outcomes = [*check_plugin(plugin, codes=codes)]

    assert [o.findings for o in outcomes if o.findings] == []
    assert [s for o in outcomes for s in o.skipped if not s.reason.startswith("does not apply: ")] == []


LISTING = "@hookimpl\ndef tracebench_tasks"
BAD: list[tuple[str, dict[str, str], str]] = [
    ("TB101", {"old": LISTING, "new": f"1 / 0\n{LISTING}"}, "ZeroDivision"),
    (
        "TB102",
        {"old": "from tracebench_core.specs import *", "new": "from tracebench_core.specs import *\nimport numpy"},
        "`numpy`",
    ),
    ("TB103", {"old": '"{module}_parts:guide"', "new": '"{module}_parts:guode"'}, "guode"),
    ("TB104", {"old": 'licence="MIT"', "new": "licence=''"}, "it has no licence"),
    ("TB104", {"old": 'licence="MIT"', "new": "licence='MIT', source='https://elsewhere.example'"}, "no citation"),
    ("TB104", {"old": 'TaskSpec(name="t"', "new": 'TaskSpec(name="t t"'}, "holds more than letters"),
    ("TB105", {"requires": "tracebench-core>=0.1"}, "without a bound on both sides"),
    ("TB105", {"requires": ""}, "does not depend on tracebench-core"),
    ("TB106", {"old": LISTING, "new": f"import os\nos.environ.get('MY_KEY')\n{LISTING}"}, "variable: MY_KEY"),
    ("TB106", {"old": LISTING, "new": f"open(__file__ + '.log', 'w').close()\n{LISTING}"}, "write: "),
    (
        "TB107",
        {
            "old": ": return [GuideSpec(",
            "new": ":\n    class Mine(GuideSpec):\n        extra: int = 1\n    return [Mine(",
        },
        "JSON",
    ),
    ("TB108", {"announced": "Nobody"}, "not announced"),
    (
        "TB305",
        {"more": ', answers="{module}_task:answers"', "old": '{"x": 3.0}', "new": '{"x": -3.0}'},
        "does not beat",
    ),
    (
        "TB305",
        {"more": ', answers="{module}_task:answers"', "old": '{"x": 1.0}', "new": '{"x": 3.0}, {"x": 1.0}'},
        "not in order",
    ),
    ("TB307", {"more": ', metric="speed"'}, "lacks the metric 'speed'"),
    ("TB307", {"more": ", worst_score=0.0"}, "below `worst_score`"),
    ("TB308", {"old": 'input=f"{s}-{i}"', "new": "input=i"}, "has the content of train example"),
    (
        "TB309",
        {"old": "return float(values", "new": "import os; os.chdir('/')\n        return float(values"},
        "another folder",
    ),
    ("TB401", {"old": "float(len(str(output)))", "new": "__import__('random').random()"}, "differ"),
    ("TB402", {"old": ':guide"', "new": ':strict"'}, "fails on the output"),
    ("TB411", {"old": "_parts:Proposes", "new": "_parts:Breaks"}, "break the bounds"),
    ("TB412", {"old": "_parts:Proposes", "new": "_parts:Trusts"}, "on rubbish"),
    ("TB421", {"old": "_parts:Log", "new": "_parts:Truncates"}, "loses what was in log.txt"),
    ("TB431", {"old": "_parts:Room", "new": "_parts:Wild"}, "not JSON serializable"),
]
BAD_MEASURED: list[tuple[str, dict[str, str], str]] = [
    ("TB301", {"old": "return Feedback(", "new": "raise KeyError('x')\n        return Feedback("}, "KeyError"),
    (
        "TB301",
        {"old": "return float(", "new": "context.complete([{'role': 'user', 'content': 'x?'}])\n        return float("},
        "asks a model",
    ),
    ("TB302", {"old": "def task():", "new": "OPENED = []\ndef task():\n    OPENED.append(1)"}, "two evaluations"),
    (
        "TB303",
        {"old": "-abs(output - 3)", "new": "-float(__import__('os').getpid())"},
        "another process scores differently",
    ),
    (
        "TB304",
        {"old": "-abs(output - 3)", "new": "-float('evaluation' in __import__('threading').current_thread().name)"},
        "four",
    ),
    (
        "TB306",
        {
            "old": "return float(values",
            "new": "import os; values['x'] < 10 or os._exit(3)\n        return float(values",
        },
        "maximum",
    ),
]


@pytest.mark.heavy("kits")
@pytest.mark.parametrize(("code", "change", "words"), BAD, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(BAD)])
def test_a_fault_fails_exactly_its_check(made: Made, code: str, change: dict[str, str], words: str) -> None:
    outcomes = [*check_plugin(made.write(**change), codes=QUICK)]

    assert {o.check.code for o in outcomes if o.findings} == {code}
    assert any(words in f.message for o in outcomes for f in o.findings)


@pytest.mark.heavy("kits")
@pytest.mark.parametrize(("code", "change", "words"), BAD_MEASURED, ids=[c for c, _, _ in BAD_MEASURED])
def test_a_fault_in_measuring_fails_exactly_its_check(
    made: Made, code: str, change: dict[str, str], words: str
) -> None:
    if code == "TB302":
        old = "return Feedback(score=-abs(output - 3)"
        plugin = made.write(**change)
        file = made.folder / f"{made.name}_task.py"
        file.write_text(file.read_text().replace(old, "return Feedback(score=-abs(output - 3) - (len(OPENED) == 2)"))
        asked = ["TB302", "TB303", "TB304"]
    else:
        plugin = made.write(**change)
        asked = [c for c in MEASURED if c == code or code not in {"TB301"}]
    outcomes = [*check_plugin(plugin, codes=asked)]

    assert {o.check.code for o in outcomes if o.findings} == {code}
    assert any(words in f.message for o in outcomes for f in o.findings)


def test_a_task_that_cannot_be_opened_is_skipped_in_its_own_words(made: Made) -> None:
    opens = "def task():\n    return Task()"
    fails = "def task():\n    from tracebench_core.errors import UsageError\n    raise UsageError('no rows of May')"
    (outcome,) = check_plugin(made.write(old=opens, new=fails), codes=["TB311"])

    assert not outcome.findings
    assert [skipped.reason for skipped in outcome.skipped] == ["no rows of May"]


def test_the_page_of_checks_is_what_the_checks_say() -> None:
    assert (ROOT / "docs/reference/checks.md").read_text() == reference(), "just checks-page"


def test_every_check_says_what_it_asks_and_how_to_mend_it() -> None:
    for check in CHECKS.values():
        assert check.title, check.code
        assert check.about == "trainer" or "Mend:" in check.text, check.code


def test_the_classes_have_a_test_for_every_check() -> None:
    tests = {name for cls in Conformance.__subclasses__() for name in vars(cls) if name.startswith("test_")}

    assert tests == {f"test_{c.code.lower()}" for c in CHECKS.values() if c.about != "trainer"}


def test_a_class_fails_with_code_subject_and_words(made: Made) -> None:
    plugin = made.write(more=', metric="speed"')

    class Suite(SuiteConformance):
        pass

    Suite.plugin = plugin.name
    with pytest.raises(AssertionError, match=rf"TB307 {plugin.name}:t: .*lacks the metric"):
        Suite().test_tb307()  # type: ignore[attr-defined]  # made of the checks
    with pytest.raises(pytest.skip.Exception, match="offers no executor"):
        Suite().demand("TB441")


@pytest.mark.parametrize(
    ("answers", "said"),
    [("one", ["one", "one", "one"]), (["a", "b"], ["a", "b", "b"]), (lambda p, n: f"{p}{n}", ["q0", "q1", "q2"])],
)
def test_a_fake_model_says_what_it_was_given(
    answers: str | list[str] | Callable[[str, int], str], said: list[str]
) -> None:
    model = FakeModel(answers)
    asked = [model.complete([{"role": "user", "content": "q"}], role="agent")[0].text for _ in range(3)]

    assert asked == said
    assert model.prompts == ["q"] * 3
    assert model.used().llm_calls == 3


def test_a_fake_model_may_fail_and_needs_an_answer() -> None:
    def fails(_prompt: str, _call: int) -> str:
        raise ModelError("away", kind="server")

    with pytest.raises(ModelError):
        FakeModel(fails).complete([{"role": "user", "content": "q"}], role="judge")
    with pytest.raises(ValueError, match="needs an answer"):
        FakeModel([])


UNWRITTEN = "it starts from a kernel that is to be written, and is worth 0 until it is"
WAIVED = {
    ("TB308", "trace_examples:greeting_stub"): "a table of greetings can hold no language but those of train",
    ("TB301", "kernelbench:numba/matmul"): UNWRITTEN,
    ("TB301", "kernelbench:numba/pairwise_distances"): UNWRITTEN,
}


OURS = (
    "core", "internal", "trace_examples", "example_plugin", "autoresearch", "ext", "hf", "kernelbench", "llm4ad", "local", "opto",
    "terminal_bench", "trackers", "veribench", "veribench_coq",
)  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_every_trainer_of_ours_is_announced(name: str) -> None:
    if name not in open_host().records:
        pytest.skip(f"the plugin `{name}` is not installed")
    found = [f for o in check_plugin(PluginUnderTest(name), codes=["TB108"]) for f in o.findings]

    assert found == []


@pytest.mark.heavy("kits")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", OURS)
def test_our_own_plugins_pass(name: str) -> None:
    outcomes = check_plugin(PluginUnderTest(name))
    found = [f for o in outcomes for f in o.findings if (f.code, f.subject) not in WAIVED]

    assert found == []


@pytest.mark.parametrize(
    ("line", "bounded"),
    [
        (">=0.2,<0.3", True), (" >0.2, <=0.3", True), ("[extra]>=0.2,<0.3", True), ("<0.3,>=0.2 ; extra == 'x'", True), ("~=0.2.1", True),
        ("==0.2.*", True), ("===0.2.1", True), ("", False), (">=0.2", False), ("<0.3", False), ("!=0.2", False),
        (">=0.2; python_version < '3.13'", False), ("<0.3; python_version >= '3.11'", False), ("; extra == 'x'", False),
    ],
)  # fmt: skip
def test_a_version_is_bounded_by_what_stands_before_its_conditions(line: str, bounded: bool) -> None:
    assert _is_bounded(f"tracebench-core{line}") == bounded


def test_what_a_plugin_prints_is_no_finding_and_how_its_process_ends_is_one(made: Made) -> None:
    noise = "import atexit, os\nprint('{\"status\": \"odd\"}', flush=True)\nos.system('echo {}')\natexit.register(os._exit, 3)"
    report = made.write(old=LISTING, new=f"{noise}\n{LISTING}").load_report
    assert report["status"] == "loaded"
    assert report["error"].startswith("the process ended with exit code 3.")


FAILS = """
OPENED = []
def task():
    from tracebench_core.errors import UsageError
    OPENED.append(1)
    if len(OPENED) == {number}: raise UsageError("not this time")
"""


@pytest.mark.parametrize(
    ("code", "number", "found", "skipped"),
    [
        ("TB302", 1, [], ["not this time"]),
        ("TB302", 2, ["it can be evaluated once, and not again: not this time"], []),
        ("TB304", 2, ["four evaluations at a time fail: not this time"], []),
    ],
)
def test_a_task_that_fails_at_its_second_opening_is_found_out(
    made: Made, code: str, number: int, found: list[str], skipped: list[str]
) -> None:
    plugin = made.write(old="def task():", new=FAILS.format(number=number))
    (outcome,) = check_plugin(plugin, codes=[code])
    assert [finding.message for finding in outcome.findings] == found
    assert [skip.reason for skip in outcome.skipped] == skipped


def test_a_process_that_is_left_in_a_folder_that_is_gone_is_in_another(made: Made) -> None:
    leaves = "import os, tempfile\n        with tempfile.TemporaryDirectory() as folder: os.chdir(folder)\n        return float(values"
    (outcome,) = check_plugin(made.write(old="return float(values", new=leaves), codes=["TB309"])
    assert [finding.message for finding in outcome.findings] == ["an evaluation leaves the process in another folder"]


def test_what_belongs_to_a_job_is_opened_with_one(made: Made) -> None:
    opens = 'return {"path": str(context.workdir)}'
    (outcome,) = check_plugin(made.write(old=opens, new=f"context.job_id.upper(); {opens}"), codes=["TB431"])
    assert (outcome.findings, outcome.skipped) == ((), ())


def test_examples_are_told_apart_by_all_of_their_data() -> None:
    """As it is shown, an array of more than a thousand numbers is its first and last three."""
    one, other = np.arange(2000), np.arange(2000)
    other[1000] = 7
    assert _content(Example(id="a", input=one)) != _content(Example(id="a", input=other))
    assert _content(Example(id="a", input=one)) == _content(Example(id="b", input=one.copy()))
    assert _content(Example(id="a", input=Path("a"))) != _content(Example(id="a", input=Path("b")))


def test_a_process_may_write_what_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("/w==")  # a byte that begins no character
    assert ask_process(["-d", str(tmp_path / "said")], seconds=60, module="base64") == [
        {"error": "the process said nothing"}
    ]


def test_an_executor_is_not_blamed_where_the_core_s_own_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_checks, "RUN_SECONDS", 0.01)
    (found,) = executor_checks.check_same_results(PluginUnderTest("core", only=("local",)))
    assert isinstance(found, Skipped)
    assert found.reason.startswith("there is nothing to compare with: ")
