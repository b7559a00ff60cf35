"""`calibrate`: cases of known outcome, measured as any candidate, told a line each, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.whole import HEAVY

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
from pydantic import BaseModel
from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, SuiteSpec, TaskSpec

DRAWN = {
    "fast": [1.0, 1.1, 0.9], "again": [1.05, 0.95, 1.0], "twice": [0.5, 0.5, 0.5], "shaky": [1.0, 9.0, 2.0], "slow": [3.0] * 3,
    "shaken": [1.0, 9.0, 2.0], "slower": [3.0] * 3,
}
TIMED = {"timed", "steady", "unsteady"}
TWICE = {"text": "twice"}

def case(name, kind, **more):
    return Calibration(name=name, kind=kind, values={"text": more.pop("text", name)}, **more)

CASES = {
    "right": [
        case("best", "gold", text="long", expected=4.0),
        case("spaced", "form", text=" long ", other="best"),
        case("per-example", "known", text="ab", expected={"a": 2.0, "b": 2.0}),
        case("longer", "order", text="abcde", other="best"),
        case("cheat", "forged", text="!!!", expected=4.0),
        case("bad", "refused", words="that is bad"),
        case("asked", "known", text="ask", replies={"a": "yes", "b": "no"}, expected={"a": 3.0, "b": 2.0}),
    ],
    "wrong": [
        case("best", "gold", text="long", expected=5.0),
        case("longer", "order", text="abc", other="best"),
        case("cheat", "forged", text="forge", other="best"),
        case("fine", "refused", text="ok"),
    ],
    "timed": [
        case("fast", "known", expected=1.0, repeats=3),
        case("again", "same", other="fast", rel_tol=0.2, repeats=3),
        Calibration(name="twice", kind="ratio", values="mine:TWICE", other="fast", factor=0.5, rel_tol=0.3, repeats=3),
        case("shaky", "same", other="fast", rel_tol=0.2, repeats=3),
        case("slow", "same", other="fast", rel_tol=0.2, repeats=3),
        case("shaken", "gold", expected=1.0, rel_tol=0.2, repeats=3),
        case("slower", "gold", expected=1.0, rel_tol=0.2, repeats=3),
    ],
    "steady": [case("one", "known", expected=1.0), case("two", "same", other="one", rel_tol=0.1, repeats=2)],
    "unsteady": [case("one", "known", expected=1.0), case("two", "same", text="slow", other="one", rel_tol=0.1, repeats=2)],
    "ladder": [
        case("low", "anchor", text="a"),
        case("high", "order", text="abc", other="low"),
        case("lower", "order", text="", other="low"),
        case("broken", "anchor", text="bad"),
        case("above", "order", text="abc", other="broken"),
    ],
    "elsewhere": [case("away", "known", expected=1.0)],
    "lost": [case("a", "known", expected=1.0, examples=("c",))],
    "none": [],
    "scaled": [
        case("plain", "known", text="abc", expected=3.0),
        case("twice", "ratio", text="abc", other="plain", factor=2.0, options={"times": 2.0}),
        case("thrice", "known", text="abc", expected=9.0, options={"times": 3.0}),
    ],
}

class Times(BaseModel):
    times: float = 1.0

class Length:
    objective = "be long"
    splits = {"train": (Example(id="a"), Example(id="b"))}
    parameters = (Parameter(name="text", initial="ab"),)
    def __init__(self, name, times=1.0):
        self.name, self.times, self.drawn = name, times, {}
    def calibrations(self):
        return CASES[self.name]
    def run(self, values, example, context):
        text = values["text"].strip()
        if text == "bad":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text="that is bad"))
        if text == "away":
            raise NotMeasured("the server is away")
        if text == "ask":
            text = context.complete([{"role": "user", "content": "?"}])[0].text
        if self.name in TIMED:
            turn = self.drawn.setdefault((text, example.id), iter(DRAWN.get(text, [1.0] * 9)))
            return next(turn, 1.0)
        return 99.0 if text == "forge" else float(len(text)) * self.times
    def guide(self, example, output, context):
        return Feedback(score=output, text="so")

right, wrong, timed, steady, unsteady, ladder, elsewhere, lost, none, scaled = ((lambda n: lambda **o: Length(n, **o))(n) for n in CASES)

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Mine")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"mine:{n}", title=n, timed=n in TIMED, options="mine:Times" if n == "scaled" else None) for n in CASES]
"""


@pytest.fixture
def mine(plugin_path: Install, tmp_path: Path) -> Mapping[str, str]:
    found = plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")
    return {"TRACEBENCH_PLUGINS": "mine", "XDG_STATE_HOME": str(tmp_path / "state"), **found}


def test_a_line_for_each_case_says_what_was_expected_and_what_was_seen(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = cli("calibrate", "mine:right", env=mine)

    assert shown.returncode == 0, shown.stdout
    assert shown.stdout.splitlines() == [
        "[OK] mine:right best (gold): expected every example 4, seen all 2 right",
        "[OK] mine:right spaced (form): expected every example 4, seen all 2 right",
        "[OK] mine:right per-example (known): expected every example 2, seen all 2 right",
        "[OK] mine:right longer (order): expected above `best`, 4, seen 5",
        "[OK] mine:right cheat (forged): expected at most 4, seen 3",
        "[OK] mine:right bad (refused): expected refused with `that is bad`, seen invalid",
        "[OK] mine:right asked (known): expected the figures of 2 examples, seen all 2 right",
    ]
    assert shown.stderr == "7 cases: 7 passed.\n"


def test_a_case_may_ask_for_settings_of_its_own(cli: Cli, mine: Mapping[str, str]) -> None:
    done = cli("calibrate", "mine:scaled", env=mine)

    assert done.returncode == 0, done.stdout
    assert "twice (ratio): expected 2 x `plain`, 6, seen 6" in done.stdout
    assert "thrice (known): expected 9, seen 9" in done.stdout


def test_a_task_that_measures_wrongly_is_found_out(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = cli("calibrate", "mine:wrong", env=mine)

    assert shown.returncode == 1
    assert shown.stdout.splitlines() == [
        "[FAIL] mine:wrong best (gold): expected every example 5, seen 0 of 2 right: Example `a`: 4 in place of 5",
        "[FAIL] mine:wrong longer (order): expected above `best`, 4, seen 3",
        "[FAIL] mine:wrong cheat (forged): expected at most 4, seen 99: Example `a`: 99, and an honest candidate has 4.",
        "[FAIL] mine:wrong fine (refused): expected refused, seen 2: Example `a` was measured.",
    ]


def test_an_anchor_is_honest_whatever_it_scores_and_others_stand_above_it(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = cli("calibrate", "mine:ladder", env=mine)

    assert shown.returncode == 1
    assert shown.stdout.splitlines() == [
        "[OK] mine:ladder low (anchor): expected a figure, seen 1",
        "[OK] mine:ladder high (order): expected above `low`, 1, seen 3",
        "[FAIL] mine:ladder lower (order): expected above `low`, 1, seen 0",
        "[FAIL] mine:ladder broken (anchor): expected a figure, seen no figure: Example `a`: invalid: that is bad",
        "[SKIP] mine:ladder above (order): expected `broken`, seen none: `broken` has no figure to compare with.",
    ]


def test_a_machine_that_is_too_noisy_says_nothing(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = cli("calibrate", "mine:timed", env=mine)

    levels = [line.split()[0] for line in shown.stdout.splitlines()]
    assert (shown.returncode, levels) == (1, ["[NOISE]", "[OK]", "[OK]", "[NOISE]", "[FAIL]", "[NOISE]", "[FAIL]"]), (
        shown.stdout
    )
    assert "too noisy: ± 4 was seen, ± 0.2 is needed" in shown.stdout


def test_what_cannot_be_measured_is_skipped_and_what_is_lost_is_told(cli: Cli, mine: Mapping[str, str]) -> None:
    away = cli("calibrate", "mine:elsewhere", env=mine)
    assert (away.returncode, "[SKIP]" in away.stdout, "the server is away" in away.stdout) == (0, True, True)

    lost = cli("calibrate", "mine:lost", env=mine)
    assert lost.returncode == 1
    assert "names no example of train: `c`" in lost.stdout

    none = cli("calibrate", "mine:none", env=mine)
    assert (none.returncode, "no calibration to make: `mine:none`" in none.stderr) == (6, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine:rigth",), "Did you mean `mine:right`?"),
        (("mnie",), "There is no task, suite or plugin `mnie`. Did you mean `mine`?"),
        (("mine", "--kind", "glod"), "There is no kind of calibration `glod`. Did you mean `gold`?"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    cli: Cli, mine: Mapping[str, str], arguments: tuple[str, ...], words: str
) -> None:
    shown = cli("calibrate", *arguments, env=mine)

    assert (shown.returncode, words in shown.stderr) == (2, True), shown.stderr


def test_a_suite_is_calibrated_whole_and_what_was_seen_is_kept(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    shown = cli("calibrate", "mine", "--kind", "gold", "--json", env=mine)

    told = json.loads(shown.stdout)
    assert [(row["task"], row["result"]) for row in told["cases"]] == [
        ("mine:right", "passed"),
        ("mine:wrong", "failed"),
        ("mine:timed", "noisy"),
        ("mine:timed", "failed"),
    ]
    assert told["without_cases"] == [
        "mine:steady",
        "mine:unsteady",
        "mine:ladder",
        "mine:elsewhere",
        "mine:lost",
        "mine:none",
        "mine:scaled",
    ]

    cli("calibrate", "mine:right", "--kind", "known", env=mine)
    kept = [json.loads(f.read_text())[0] for f in (tmp_path / "state" / "trace-bench" / "calibrations").iterdir()]
    entry = next(e for e in kept if e["task"] == "mine:right")
    assert [v["case"] for v in entry["verdicts"]] == ["best", "per-example", "asked"]
    assert entry["judge"]["version"].startswith("mine 1.0")


def test_what_was_seen_under_the_options_that_a_task_fills_in_is_found_by_a_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("run_id: r\ntasks: [internal:numeric_param]\ntrainers: [NoOp]\n")

    cli("calibrate", "internal:numeric_param")
    cli("run", "--config", "c.yaml")

    (job,) = json.loads(cli("show", "runs/r", "--json").stdout)["jobs"]
    assert job["calibration"] == "here"


CONFIG = """
run_id: r
tasks: ["mine:right", "mine:steady", "mine:unsteady"]
trainers: [NoOp]
"""


@HEAVY
def test_a_timed_task_is_calibrated_first_and_not_scored_where_that_does_not_pass(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    cli("calibrate", "mine:right", env=mine)

    first = cli("run", "--config", "c.yaml", env=mine)
    again = cli("run", "--config", "c.yaml", "-o", "run_id=again", env=mine)
    scored = cli("run", "--config", "c.yaml", "-o", "run_id=scored", "-o", "uncalibrated=score", env=mine)

    calibrating = [line for line in first.stderr.splitlines() if "calibrating it, once on this machine" in line]
    assert [line.split()[0] for line in calibrating] == ["mine:steady", "mine:unsteady"], first.stderr
    assert "calibrating" not in again.stderr + scored.stderr
    told = {
        run: json.loads(cli("show", f"runs/{run}", "--json", env=mine).stdout)["jobs"]
        for run in ("r", "again", "scored")
    }
    for run in ("r", "again"):
        jobs = {job["task_id"]: job for job in told[run]}
        assert (jobs["mine:steady"]["status"], jobs["mine:steady"]["calibration"]) == ("ok", "here")
        assert (jobs["mine:right"]["status"], jobs["mine:right"]["calibration"]) == ("ok", "here")
        refused = jobs["mine:unsteady"]
        assert (refused["status"], refused["score_val_best"], refused["calibration"]) == ("skipped", None, "never")
        assert "not measured: its calibration did not pass on this machine: `two` (same)" in refused["stop_reason"]
    unsteady = next(job for job in told["scored"] if job["task_id"] == "mine:unsteady")
    assert (unsteady["status"], unsteady["calibration"]) == ("ok", "never")
    assert unsteady["judge"]["version"].startswith("mine 1.0")

    checked = cli("validate", "--strict", "--config", "c.yaml", env=mine)
    assert "[OK] mine:right: calibrated here on" in checked.stdout
    assert "[FAIL] mine:unsteady: its calibration did not pass" in checked.stdout
    assert "calibrated here on" in cli("list-tasks", "mine:steady", env=mine).stdout


def test_a_timed_task_without_a_known_figure_is_not_scored_and_one_with_nothing_to_time_is_calibrated_by_all_its_cases(
    cli: Cli, plugin_path: Install, tmp_path: Path
) -> None:
    more = '"untold": [], "interpreted": [case("one", "gold", expected=1.0)],'
    suite = SUITE.replace('"none": [],', f'"none": [],{more}').replace(
        "none, scaled =", "none, untold, interpreted, scaled ="
    )
    suite = suite.replace("TIMED = {", 'TIMED = {"untold", "interpreted", ')
    env = {"TRACEBENCH_PLUGINS": "mine", "XDG_STATE_HOME": str(tmp_path / "state")}
    env |= plugin_path("mine", suite, group="tracebench", entry="mine", target="mine")
    (tmp_path / "c.yaml").write_text(
        'run_id: r\ntasks: ["mine:untold", "mine:interpreted"]\ntrainers: [NoOp]\n', encoding="utf-8"
    )

    done = cli("run", "--config", "c.yaml", env=env)

    shown = json.loads(cli("show", "runs/r", "--json", env=env).stdout)["jobs"]
    jobs = {job["task_id"]: job for job in shown}
    assert (jobs["mine:interpreted"]["status"], jobs["mine:interpreted"]["calibration"]) == ("ok", "here"), done.stderr
    assert (jobs["mine:untold"]["status"], jobs["mine:untold"]["calibration"]) == ("skipped", "never")
    assert "never calibrated: it offers no case; `uncalibrated: score` in the" in jobs["mine:untold"]["stop_reason"]
    checked = cli("validate", "--config", "c.yaml", "--strict", env=env).stdout
    assert "[WARN] mine:untold: never calibrated: it offers no case, so that a run scores it only with" in checked
