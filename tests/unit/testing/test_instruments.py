"""The kit finds a suite that believes forged figures: the template of before, a printed score, a process left behind."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_engine.api.checking import Outcome
from tracebench_testing import PluginUnderTest, check_plugin

OLD_TEMPLATE = Path(__file__).parents[2] / "cli" / "golden" / "plugins" / "tracebench_keptsuite"
MADE = """
import subprocess, sys
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Printed:
    objective = "Return a large number below ten."
    parameters = (Parameter(name="code", initial="def number(n):\\n    return n\\n", kind="code"),)
    splits = {"train": (Example(id="a", input=3),)}
    def run(self, values, example, context):
        program = values["code"] + f"\\nprint('score:', min(10, number({example.input})))\\n"
        done = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = []
        for line in done.stdout:
            lines.append(line)
            if line.startswith("score:"):
                break
        return lines
    def guide(self, example, output, context):
        try:
            return Feedback(score=float(output[-1].split()[-1]), text="so")
        except (IndexError, ValueError):
            return Feedback(score=0.0, status="invalid", text="no number")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="t", loader="printed:Printed", title="T", licence="MIT", sandbox=())]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if name.startswith(("tracebench_keptsuite", "printed", "programs", "trusting")):
            del sys.modules[name]


def checked(site: Path, name: str, module: str, codes: list[str]) -> dict[str, Outcome]:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: tracebench-core\n"
    )
    (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = {module}\n")
    return {outcome.check.code: outcome for outcome in check_plugin(PluginUnderTest(name, deep=True), codes=codes)}


@HEAVY
def test_the_template_of_before_believes_what_a_candidate_counts(site: Path) -> None:
    shutil.copytree(OLD_TEMPLATE, site / "tracebench_keptsuite")

    outcomes = checked(site, "keptsuite", "tracebench_keptsuite.plugin", ["TB311", "TB312", "TB313", "TB314"])

    assert [w.message for w in outcomes["TB311"].warned] == ["no task of the suite has a case of kind `gold`"]
    assert [w.subject for w in outcomes["TB312"].warned] == ["keptsuite:sorting"]
    assert not outcomes["TB313"].findings
    words = outcomes["TB314"].findings[0].message
    assert words.startswith(
        "a forged figure is believed: `code: closures -1000000000` scores 1e+09 on train-0, -29 is honest"
    )


@pytest.mark.heavy("kits")
def test_a_printed_score_is_found(site: Path) -> None:
    (site / "printed.py").write_text(MADE)

    outcome = checked(site, "printed", "printed", ["TB314"])["TB314"]

    assert "`code: exits 1000000000` scores 1e+09 on a, 3 is honest" in outcome.findings[0].message


@pytest.mark.heavy("kits")
def test_a_child_left_behind_is_found(site: Path) -> None:
    (site / "printed.py").write_text(MADE.replace("score=float(output[-1].split()[-1])", "score=3.0 * bool(output)"))

    outcome = checked(site, "printed", "printed", ["TB314"])["TB314"]

    assert "processes of candidates are left behind" in outcome.findings[0].message


HELPED = """
import atexit, subprocess, sys
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Helped:
    objective = "Return ten."
    parameters = (Parameter(name="code", initial="def number():\\n    return 3\\n", kind="code"),)
    splits = {"train": (Example(id="a"),)}
    helper = None
    def run(self, values, example, context):
        return context.sandbox.call(values["code"], "number")
    def guide(self, example, output, context):
        if Helped.helper is None:
            Helped.helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            ENDED
        return Feedback(score=float(output == 10), text="so")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="t", loader="printed:Helped", title="T", licence="MIT", sandbox=())]
"""


@HEAVY
@pytest.mark.parametrize(("ended", "found"), [("atexit.register(Helped.helper.kill)", 0), ("pass", 1)])
def test_a_process_that_the_judge_itself_ends_is_none_that_a_candidate_left(site: Path, ended: str, found: int) -> None:
    (site / "printed.py").write_text(HELPED.replace("ENDED", ended))

    outcome = checked(site, "printed", "printed", ["TB314"])["TB314"]

    told = [finding.message for finding in outcome.findings]
    assert told == ["1 processes of candidates are left behind"] * found


@pytest.mark.heavy("kits")
def test_a_candidate_that_grades_itself_is_found(site: Path) -> None:
    graded = 'program = values["code"] + f"\\ntry:\\n    right = is_solution({example.input})\\nexcept NameError:\\n    right = 0\\n"\n'
    graded += "        program += \"print('score:', 9 if right else 3)\\n\"\n"
    old = """program = values["code"] + f"\\nprint('score:', min(10, number({example.input})))\\n"\n"""
    assert old in MADE
    (site / "printed.py").write_text(MADE.replace(old, graded))

    outcome = checked(site, "printed", "printed", ["TB314"])["TB314"]

    assert "`code: own judge True` scores 9 on a, 3 is honest" in outcome.findings[0].message


OTHERS = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

class Task:
    objective = "Whatever."
    splits = {s: (Example(id=s, input=1),) for s in ("train", "validation", "test")}
    def __init__(self, kind, initial): self.parameters = (Parameter(name="it", initial=initial, kind=kind),)
    def run(self, values, example, context): return len(str(values["it"]))
    def guide(self, example, output, context): return Feedback(score=float(output))

def prompt(): return Task("text", "Say it.")
def shell(): return Task("code", "(display 1)")
def clock(): return Task("code", "def f():\\n    return 1\\n")

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Others")
@hookimpl
def tracebench_tasks():
    return [
        TaskSpec(name="prompt", loader="others:prompt", title="Prompt"),
        TaskSpec(name="shell", loader="others:shell", title="Shell", sandbox=()),
        TaskSpec(name="clock", loader="others:clock", title="Clock", sandbox=(), timed=True),
    ]
"""


def test_where_a_check_does_not_apply_it_says_so_and_why(site: Path) -> None:
    (site / "others.py").write_text(OTHERS)

    outcomes = checked(site, "others", "others", ["TB312", "TB313", "TB314"])

    told = {(s.code, s.subject): s.reason for outcome in outcomes.values() for s in outcome.skipped}
    no_code = "does not apply: it runs no code of candidates"
    assert told["TB312", "others:prompt"] == told["TB314", "others:prompt"] == no_code
    assert {told["TB313", f"others:{name}"] for name in ("prompt", "shell", "clock")} == {
        "does not apply: it offers no case"
    }
    assert told["TB314", "others:shell"] == (
        "does not apply: no parameter holds a program in Python, C or shell to forge with: `it` (code)"
    )
    assert told["TB314", "others:clock"].startswith("does not apply: its score is a time")


PROGRAMS = r"""
import json, subprocess, sys
from pathlib import Path
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

HONEST = {
    "script": "import sys\nprint('sum:', sum(int(n) for n in sys.argv[1:]))\nprint('score: 3')\n",
    "shell": "#!/bin/sh\nset -e\necho sum: $(($1 + $2))\necho score: 3\n",
    "c": '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **v) {\n'
    '    printf("sum: %d\\nscore: 3\\n", atoi(v[1]) + atoi(v[2]));\n    return 0;\n}\n',
    "tree": {
        "main.py": "import part\nprint('sum:', part.add())\n",
        "part.py": "import sys\ndef add():\n    return int(sys.argv[1]) + int(sys.argv[2])\n",
    },
}

class Sums:
    objective = "Add two numbers."
    splits = {"train": (Example(id="a", input=("1", "2")),)}
    def __init__(self, kind, believes):
        self.kind, self.believes = kind, believes
        initial = HONEST[kind]
        self.parameters = (Parameter(name="it", initial=initial, kind="files" if kind == "tree" else "code"),)
    def run(self, values, example, context):
        folder = Path(context.workdir)
        files = values["it"] if self.kind == "tree" else {{"script": "main.py", "shell": "main.sh", "c": "main.c"}[self.kind]: values["it"]}
        for name, text in files.items():
            (folder / name).write_text(text)
        command = [sys.executable, "main.py"]
        if self.kind == "c":
            subprocess.run(["cc", "-o", "main", "main.c"], cwd=folder, capture_output=True, check=True)
            command = ["./main"]
        elif self.kind == "shell":
            command = ["sh", "main.sh"]
        done = subprocess.run([*command, *example.input], cwd=folder, capture_output=True, text=True, timeout=60)
        return done.stdout.splitlines(), {path.name: path.read_text() for path in folder.glob("*.json")}
    def guide(self, example, output, context):
        lines, files = output
        right = 3.0 * ("sum: 3" in lines)
        if self.believes == "lines":
            told = [float(line.split()[1]) for line in lines if line.startswith("score:")]
            return Feedback(score=told[-1] if told else 0.0)
        if self.believes == "files" and "metrics.json" in files:
            return Feedback(score=json.loads(files["metrics.json"])["score"])
        return Feedback(score=right)

def task(kind, believes):
    return lambda: Sums(kind, believes)

LOADERS = {(k, b): task(k, b) for k in HONEST for b in ("lines", "files", "nothing")}
globals().update({f"{k}_{b}": loader for (k, b), loader in LOADERS.items()})

@hookimpl
def tracebench_tasks():
    chosen = [(k, b) for k, b in LOADERS if CHOSEN in (k, b)]
    return [TaskSpec(name=f"{k}_{b}", loader=f"programs:{k}_{b}", title=k, licence="MIT", sandbox=()) for k, b in chosen]
"""


@pytest.mark.heavy("kits")
@pytest.mark.parametrize(
    ("kind", "lines", "files"),
    [
        (
            "script",
            "`it: python prints last 1000000000` scores 1e+09",
            "`it: python writes first 1000000000` scores 1e+09",
        ),
        (
            "shell",
            "`it: shell prints last 1000000000` scores 1e+09",
            "`it: shell writes first 1000000000` scores 1e+09",
        ),
        ("c", "`it: c prints last 1000000000` scores 1e+09", "`it: c writes first 1000000000` scores 1e+09"),
        (
            "tree",
            "`it: python prints first 1000000000` scores 1e+09",
            "`it: python writes first 1000000000` scores 1e+09",
        ),
    ],
)
def test_programs_that_are_no_functions_are_forged_too(site: Path, kind: str, lines: str, files: str) -> None:
    (site / "programs.py").write_text(f"CHOSEN = {kind!r}\n{PROGRAMS}")

    outcome = checked(site, "programs", "programs", ["TB314"])["TB314"]

    told = {finding.subject: finding.message for finding in outcome.findings}
    assert told.keys() == {f"programs:{kind}_{believes}" for believes in ("files", "lines", "nothing")}
    assert lines in told[f"programs:{kind}_lines"]
    assert files in told[f"programs:{kind}_files"]
    assert told[f"programs:{kind}_nothing"].endswith("processes of candidates are left behind")
    assert not outcome.skipped


TRUSTING = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Squares:
    objective = "Return the square."
    parameters = (Parameter(name="code", initial="def solve(n):\\n    return n\\n", kind="code"),)
    splits = {"train": tuple(Example(id=f"t{i}", input=i, reference=i * i) for i in (2, 3))}
    def run(self, values, example, context):
        space = {"__builtins__": dict(vars(__import__("builtins")))}
        exec(values["code"], space)
        held = {"expected": example.reference} if self.leaks else {}
        answer = space["solve"](example.input)
        return answer, space.get("score") if not self.leaks else None
    def guide(self, example, output, context):
        answer, told = output
        return Feedback(score=float(answer == example.reference) if told is None else float(told), text="so")

class Leaks(Squares):
    leaks = True

class Believes(Squares):
    leaks = False
    splits = {"train": (Example(id="a", input=1, reference=1),)}

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n.lower(), loader=f"trusting:{n}", title=n, licence="MIT", sandbox=()) for n in ("Leaks", "Believes")]
"""


def test_an_answer_within_reach_and_a_score_that_a_candidate_declares_are_found(site: Path) -> None:
    (site / "trusting.py").write_text(TRUSTING)

    outcome = checked(site, "trusting", "trusting", ["TB314"])["TB314"]

    told = {finding.subject: finding.message for finding in outcome.findings}
    assert told["trusting:leaks"].startswith("the answer can be reached by what does no work")
    assert "scores 1 on t2, 0 is honest" in told["trusting:leaks"]
    assert "`code: own score 1000000000` scores 1e+09 on a, 1 is honest" in told["trusting:believes"]
