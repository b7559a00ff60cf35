"""Calibrations: what a case must say, which cases a task has, and figures that cannot be."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tracebench_core.errors import BrokenTaskError, PluginError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import (
    Bounds,
    Calibration,
    CalibrationKind,
    Candidate,
    CaseVerdict,
    Example,
    Feedback,
    Judge,
    Parameter,
    SuiteSpec,
    TaskSpec,
)
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.checks.calibration.cases import candidate_of, cases_of
from tracebench_engine.checks.calibration.machine import Machine, judge_of, this_machine
from tracebench_engine.checks.calibration.record import Entry, Standing, keep, standing
from tracebench_engine.checks.calibration.verdicts import judge, seen_of
from tracebench_engine.measure.building import open_task
from tracebench_engine.measure.context import Shared
from tracebench_engine.measure.models import NoModels
from tracebench_engine.measure.service import EvaluationService

NINE = {"x": 9.0}
OWN = [Calibration(name="nine", kind="gold", values=NINE, expected=9.0)]
OF_SUITE = [Calibration(name="start", kind="known", expected=0.0)]


def build() -> Any:
    task = SimpleTask(
        [Parameter(name="x", initial=0.0, kind="number")],
        "Up.",
        lambda values, _example, _context: values["x"],
        lambda _example, output, _context: Feedback(score=output, text="so"),
    )
    return SimpleNamespace(**vars(task), run=task.run, calibrations=lambda: OWN)


def families(name: str, task: Any) -> Sequence[Calibration]:
    assert name == "hill"
    assert task.parameters[0].name == "x"
    return OF_SUITE


def cases() -> tuple[Calibration, ...]:
    plugin = ModuleType("hills")
    spec = TaskSpec(name="hill", title="Hill", loader=f"{__name__}:build")
    suite = SuiteSpec(title="Hills", calibrations=f"{__name__}:families")
    plugin.tracebench_tasks = hookimpl(lambda: [spec])  # type: ignore[attr-defined]
    plugin.tracebench_suite = hookimpl(lambda: suite)  # type: ignore[attr-defined]
    host = PluginHost({})
    host.register(plugin, "hills")
    opened = open_task(host, "hills:hill", eval_kwargs={})
    try:
        return cases_of(host, "hills:hill", opened)
    finally:
        opened.close()


def test_a_task_has_its_own_cases_and_those_of_its_suite() -> None:
    assert [case.name for case in cases()] == ["nine", "start"]


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        ([*OWN, *OWN], "2 calibrations called `nine`"),
        ([*OWN, Calibration(name="b", kind="order", other="nin")], "no case `nin`.*nine"),
        ([{"name": "a"}], "hold `dict`"),
        (7, "are `int`"),
    ],
)
def test_cases_that_do_not_fit_together_are_refused(offered: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OWN", offered)

    with pytest.raises(PluginError, match=words):
        cases()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "gold"}, "needs `expected`"),
        ({"kind": "order"}, "needs `other`"),
        ({"kind": "ratio", "other": "b"}, "needs `factor`"),
        ({"kind": "form"}, "needs `expected` or `other`"),
        ({"kind": "same", "other": "a"}, "with itself"),
        ({"kind": "same", "other": "b", "factor": 2}, "belongs to kind `ratio`"),
        ({"kind": "anchor", "expected": 1}, "has no `expected`"),
        ({"kind": "anchor", "other": "b"}, "has no `other`"),
        ({"kind": "golden", "expected": 1}, "Input should be"),
        ({"kind": "known", "expected": float("nan")}, "finite number"),
        ({"kind": "known", "expected": {"x": float("inf")}}, "finite number"),
        ({"kind": "known", "expected": 1, "rel_tol": float("inf")}, "finite number"),
    ],
)
def test_a_case_says_what_must_come_out(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Calibration.model_validate({"name": "a", **fields})


def test_values_may_be_had_elsewhere() -> None:
    case = Calibration(name="a", kind="known", expected=1.0, values=f"{__name__}:NINE")

    assert candidate_of(case, "hills:hill") == NINE
    with pytest.raises(PluginError, match="is `list`"):
        candidate_of(case.model_copy(update={"values": f"{__name__}:OF_SUITE"}), "hills:hill")


def measured(guide: Any, candidate: Candidate, **fields: Any) -> Feedback:
    task = SimpleTask([Parameter(name="x", initial=0.0, kind="number")], "Up.", lambda v, _e, _c: v["x"], guide)
    shared = Shared(NoModels(), None, workdir=Path("work"), artifacts=Path("artifacts"))  # type: ignore[arg-type]  # none asks
    spec = TaskSpec(name="t", loader="t:t", title="t", worst_score=-5.0, **fields)
    initial = Candidate(id="c0", values={"x": 0.0})
    service = EvaluationService(task, task.guide, shared, spec=spec, initial=initial, seed=0)
    return service.begin(candidate, [(Example(id="e"), "train")], phase="training")[0].result().feedback


OTHER = Candidate(id="c1", values={"x": 1.0})


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"score": 1e9}, r"score is 1e\+09, and nothing can be beyond -5 to 1 here"),
        ({"score": -6.0}, "score is -6"),
        ({"score": 0.5, "metrics": {"steps": -1.0}}, "metric `steps` is -1, and nothing can be beyond 0 to ∞"),
        ({"score": 0.5, "metrics": {"other": float("nan")}}, "metric `other` is nan"),
        ({"score": 0.5, "metrics": {"other": float("inf")}}, "metric `other` is inf"),
        ({"score": float("inf")}, "a score must be finite"),
        ({"score": "1"}, "a figure must be a number, not the text '1'"),
        ({"score": 0.5, "metrics": {"steps": "3"}}, "a figure must be a number, not the text '3'"),
    ],
)
def test_a_figure_that_cannot_be_is_refused_and_never_ranked(figures: dict[str, Any], words: str) -> None:
    def guide(_example: Example, output: float, _context: Any) -> Any:
        return figures | {"text": "so"} if output else Feedback(score=0.0)

    bounds = {"score_bounds": Bounds(minimum=-5.0, maximum=1.0), "metric_bounds": {"steps": Bounds(minimum=0.0)}}
    feedback = measured(guide, OTHER, **bounds)

    assert (feedback.status, feedback.score) == ("invalid", -5.0)
    assert re.search(words, feedback.text)


def test_a_task_whose_start_is_beyond_its_own_bounds_is_broken() -> None:
    with pytest.raises(BrokenTaskError, match="nothing can be beyond"):
        measured(
            lambda *_: Feedback(score=2.0), Candidate(id="c0", values={"x": 0.0}), score_bounds=Bounds(maximum=1.0)
        )


def test_there_is_no_negative_zero_and_no_bound_the_wrong_way_round() -> None:
    assert str(Feedback(score=-0.0).score) == "0.0"
    with pytest.raises(ValidationError, match="above `maximum`"):
        Bounds(minimum=1.0, maximum=0.0)


@pytest.mark.parametrize("kind", ["gold", "known", "form", "forged", "refused", "anchor"])
@pytest.mark.parametrize(
    ("metric", "noise", "feedbacks", "words"),
    [
        ("", "", {}, "no example of train"),
        ("speed", "", {"a": Feedback(score=1.0)}, "no metric of that name"),
        ("", "spread", {"a": Feedback(score=1.0, metrics={"speed": 1.0})}, "no metric of that name"),
    ],
)
def test_a_case_that_names_what_is_not_there_never_passes(
    kind: CalibrationKind, metric: str, noise: str, feedbacks: dict[str, Feedback], words: str
) -> None:
    expected = None if kind in {"forged", "refused", "anchor"} else 1.0
    case = Calibration(name="a", kind=kind, expected=expected, metric=metric, noise=noise, rel_tol=0.1)
    seen = {"a": seen_of([(1.0, feedbacks)], metric, noise)}

    verdict = judge(case, {"a": case}, seen, seen["a"])

    assert verdict.result == "failed"
    assert words in verdict.why


def test_a_refused_case_that_could_not_be_measured_was_not_refused() -> None:
    busy = Feedback(score=0.0, status="not_measured", text="the machine is too busy")
    seen = {"a": seen_of([(None, {"x": busy})], "")}

    for words in ("", "Harbor refused the job"):
        case = Calibration(name="a", kind="refused", words=words)
        verdict = judge(case, {"a": case}, seen, seen["a"])

        assert (verdict.result, verdict.why) == ("skipped", "It cannot be measured here: the machine is too busy")


def test_a_case_that_is_not_measured_in_the_words_of_its_refusal_was_refused() -> None:
    case = Calibration(name="without docker", kind="refused", words="Harbor refused the job")
    told = Feedback(score=0.0, status="not_measured", text="Harbor refused the job: Docker daemon is not running.")
    seen = {case.name: seen_of([(None, {"x": told})], "")}

    verdict = judge(case, {case.name: case}, seen, seen[case.name])

    assert (verdict.result, verdict.expected) == ("passed", "refused with `Harbor refused the job`")


def test_refusals_anchors_and_forgeries_that_gain_nothing_are_no_calibration() -> None:
    def place(*results: tuple[CalibrationKind, str]) -> tuple[str, str]:
        verdicts = tuple(
            CaseVerdict.model_validate({"case": k, "kind": k, "result": r, "expected": "", "seen": ""})
            for k, r in results
        )
        machine, judge = Machine(id="m", words="a machine"), Judge(version="1", digest="d")
        entry = Entry(
            task="t",
            options={},
            comparability=1,
            machine=machine,
            judge=judge,
            made=datetime.now(UTC),
            verdicts=verdicts,
        )
        standing = Standing("here", entry)
        return standing.calibrated, standing.words

    assert place(("gold", "passed"), ("forged", "passed"))[0] == "here"
    assert place(("forged", "passed"), ("refused", "passed"), ("gold", "skipped")) == (
        "never", "never calibrated: no figure that is known was measured",
    )  # fmt: skip
    assert place(("anchor", "passed"), ("forged", "passed"))[0] == "never"
    assert place(("anchor", "passed"), ("order", "passed"))[0] == "here"
    assert place(("gold", "passed"), ("forged", "failed"))[0] == "never"


@pytest.mark.parametrize("name", ["driver.c", "confine.h", "sizes.json", "deep/er.py"])
def test_whatever_a_plugin_measures_with_is_part_of_its_judge(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest_with(text: str, number: int) -> str:
        package = f"measuring{name.replace('/', '_').replace('.', '_')}{number}"
        path = tmp_path / package / name
        path.parent.mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "__pycache__").mkdir()
        (tmp_path / package / "__pycache__" / "a.pyc").write_text(str(number))
        path.write_text(text)
        host: Any = SimpleNamespace(records={"own": SimpleNamespace(distribution="own", version="1")})
        return judge_of(host, "own:task", TaskSpec(name="task", title="A task", loader=f"{package}.task:build")).digest

    monkeypatch.syspath_prepend(tmp_path)
    assert digest_with("one", 1) == digest_with("one", 2) != digest_with("other", 3)


GROUND = {"cc": "1.0", "library": "7"}


def ground(options: dict[str, Any]) -> dict[str, str]:
    return {**GROUND, "backend": options["backend"]}


def test_what_was_seen_with_another_compiler_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    host: Any = SimpleNamespace(records={"own": SimpleNamespace(distribution="own", version="1")})
    spec = TaskSpec(name="task", title="A task", loader="own.task:build", stands_on=f"{__name__}:ground")
    seen = [CaseVerdict(case=name, kind="gold", result="passed", expected="", seen="") for name in ("one", "two")]

    def found(backend: str = "a") -> Standing:
        return standing(host, "own:task", spec, {"backend": backend})

    assert (found().place, found().words) == ("never", "never calibrated")
    assert keep(host, "own:task", spec, {"backend": "a"}, seen)
    assert (found().place, found().calibrated, found("b").place) == ("here", "here", "never")

    monkeypatch.setitem(GROUND, "cc", "2.0")
    monkeypatch.delitem(GROUND, "library")
    later = found()
    assert (later.place, later.calibrated, later.entry) == ("never", "never", None)
    assert later.words.startswith("never calibrated: what was seen here on ")
    assert later.words.endswith("was seen with `cc` 1.0, which is 2.0 now; `library` 7, which is none now")
    assert keep(host, "own:task", spec, {"backend": "a"}, seen[:1])
    assert [verdict.case for verdict in (found().entry or pytest.fail("nothing was kept")).verdicts] == ["one"]


def test_what_was_kept_without_versions_does_not_count_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    host: Any = SimpleNamespace(records={"own": SimpleNamespace(distribution="own", version="1")})
    spec = TaskSpec(name="task", title="A task", loader="own.task:build")
    assert keep(host, "own:task", spec, {}, [CaseVerdict(case="a", kind="gold", result="passed", expected="", seen="")])
    (file,) = tmp_path.rglob("*.json")
    file.write_text(
        json.dumps([{k: v for k, v in e.items() if k != "stands_on"} for e in json.loads(file.read_text())])
    )

    assert standing(host, "own:task", spec, {}).place == "here"
    later = standing(host, "own:task", spec.model_copy(update={"stands_on": f"{__name__}:plain_ground"}), {})
    assert later.place == "never"
    assert later.words.endswith("does not tell its versions of cc, library")


def plain_ground(_options: dict[str, Any]) -> dict[str, str]:
    return dict(GROUND)


@pytest.mark.parametrize(
    ("kind", "figure", "share", "result"),
    [
        ("same", 1.1, 0.0, "passed"), ("same", 1.25, 0.0, "failed"), ("same", 1.25, 0.1, "passed"), ("same", 1.5, 0.1, "failed"),
        ("same", 1.0, 0.3, "noisy"), ("forged", 0.1, 0.1, "passed"), ("forged", 1.25, 0.0, "failed"), ("forged", 1.25, 0.1, "passed"),
        ("forged", 1.5, 0.1, "failed"), ("forged", 1.25, 0.3, "noisy"), ("order", 1.1, 0.0, "failed"), ("order", 1.25, 0.0, "passed"),
        ("order", 1.25, 0.1, "failed"), ("order", 1.4, 0.1, "passed"),
    ],
)  # fmt: skip
def test_a_noise_that_measurements_tell_is_allowed_for_and_too_much_of_it_says_nothing(
    kind: CalibrationKind, figure: float, share: float, result: str
) -> None:
    cases = {
        "plain": Calibration(name="plain", kind="anchor"),
        "mine": Calibration(name="mine", kind=kind, other="plain", noise="noise", rel_tol=0.15),
    }
    seen = {
        name: seen_of([(told, {"a": Feedback(score=told, text="", metrics={"noise": share})})], "", "noise")
        for name, told in {"plain": 1.0, "mine": figure}.items()
    }

    assert judge(cases["mine"], cases, seen, seen["plain"]).result == result


def test_a_machine_is_told_by_its_processor_and_how_many_it_has() -> None:
    known = re.search(r"^model name\s*:\s*(\S.*?)\s*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if known is None:
        pytest.skip("the processor has no name in /proc/cpuinfo")

    assert this_machine().words.split(", ")[:2] == [known[1], f"{os.cpu_count()} CPUs"]
