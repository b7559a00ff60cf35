"""What is told at the end: the command to go on with, why a job is not sound, how a twin compares, and which setting is none."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel
from tests.unit.analysis.runs import make_run
from tests.unit.store.samples import job_spec

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Budget, InitialFrom, JobOrder, OptimizerSpec, TaskSpec, TrainerSpec
from tracebench_engine.checks.twins.beside import _judge
from tracebench_engine.checks.twins.told import Told, key_of, prompt_of, shared
from tracebench_engine.cli.announced import headline
from tracebench_engine.cli.running.ending import next_command
from tracebench_engine.job.job import _unsound, _worth_scoring
from tracebench_engine.matrix.settings import known_names, resolve_options, resolve_settings
from tracebench_engine.matrix.warm_start import read_start
from tracebench_engine.measure.recorder import Answers, Recorder
from tracebench_engine.run.local.memory import _holds, _joined, _mapping
from tracebench_engine.run.runner import RunSummary


def summary(folder: Path, counts: dict[str, int], *, exit_code: int = 0, stopped_by: str = "") -> RunSummary:
    return RunSummary(folder, counts, exit_code, stopped_by)


@pytest.mark.parametrize(
    ("counts", "exit_code", "told"),
    [
        ({}, 0, "no job. Look:  trace-bench show R"),
        ({"ok": 2, "skipped": 1, "failed": 0}, 0, "2 ok, 1 skipped. Look:  trace-bench show R"),
        ({"ok": 1, "not_run": 2}, 130, "1 ok, 2 not_run. Continue:  trace-bench resume R"),
        *(
            ({"ok": 1, status: 1}, 1, f"1 ok, 1 {status}. Try those again:  trace-bench resume R --failed")
            for status in ("failed", "timeout", "cancelled")
        ),
        (
            {"ok": 1}, 1,
            "1 ok, in a run that nothing reads until its damaged journal is accepted. Look closer:  trace-bench fsck R",
        ),
    ],
)  # fmt: skip
def test_what_to_type_next_follows_from_how_the_jobs_ended(counts: dict[str, int], exit_code: int, told: str) -> None:
    assert next_command(summary(Path("R"), counts, exit_code=exit_code)) == told


@pytest.mark.parametrize(
    ("axis", "budget", "more"),
    [
        ("evaluations", Budget(evaluations=40), "--max-evaluations 100"),
        ("usd", Budget(usd=0.25), "--max-usd 0.52"),
        ("tokens", Budget(evaluations=40), "--max-tokens N"),
    ],
)
def test_a_run_whose_budget_is_spent_is_told_how_much_pays_for_what_is_left(
    tmp_path: Path, axis: str, budget: Budget, more: str
) -> None:
    statuses: Any = {("A", "s:x", 2): "not_run", ("A", "s:x", 3): "not_run"}
    run = make_run(
        tmp_path / "run",
        lambda *_: 1.0,
        trainers=("A",),
        tasks=("s:x",),
        seeds=range(4),
        statuses=statuses,
        budget=budget,
    )
    told = next_command(summary(run.layout.path, {"ok": 2, "not_run": 2}, exit_code=5, stopped_by=f"run budget:{axis}"))
    assert told == (
        f"2 ok, 2 not_run: the run's budget of {axis} does not pay for the next job. Give it more:  trace-bench resume "
        f"{run.layout.path} {more}\n  or run it anew with a smaller `budget.{axis}`, or a larger `run_budget.{axis}`"
    )


def test_jobs_that_scoring_had_no_budget_for_are_told_its_cap(tmp_path: Path) -> None:
    statuses: Any = {("A", "s:x", 1): "unscored"}
    run = make_run(
        tmp_path / "run", lambda *_: 1.0, trainers=("A",), tasks=("s:x",), seeds=range(2), statuses=statuses,
        ended=lambda _t, _s, seed: {"stop_reason": "scoring budget:llm_calls"} if seed else {},
    )  # fmt: skip
    assert next_command(summary(run.layout.path, {"ok": 1, "unscored": 1}, exit_code=1)) == (
        "1 ok, 1 unscored: what `scoring_budget` allows of llm_calls does not pay for scoring. Give it more:  trace-bench resume "
        f"{run.layout.path} --failed --max-scoring-calls N"
    )


SOUND: dict[str, Any] = {
    "taken": 4,
    "unmeasured": 0,
    "scored": 4,
    "last_reason": "busy",
    "last_failure": "invalid: no",
    "raised": "",
}


UNANSWERED = "none of {} model calls was answered, the last because of: no"


class Trained:
    """As much of a job's context as tells whether it is sound."""

    def __init__(
        self, proposed: tuple[int, int] = (0, 0), *, uses_model: bool = False, free: bool = False, **answers: Any
    ) -> None:
        self.events: list[Any] = []
        self.recorder: Any = Recorder(self.events.append)
        self.recorder.proposed = {"asked": proposed[0], "usable": proposed[1]}
        self.recorder.answers = defaultdict(Answers, optimizer=Answers(**answers))
        trainer = TrainerSpec(name="Climber", title="t", loader="t:t", uses_model=uses_model)
        proposer = OptimizerSpec(name="O", title="t", loader="t:t", calls_per_proposal=0 if free else 1)
        self.host: Any = SimpleNamespace(component=lambda kind, _name: trainer if kind == "trainer" else proposer)


def why(context: Any, *, cut: bool = False, **problem: Any) -> Any:
    fields = SOUND | problem
    fields["mishaps"] = SimpleNamespace(verdict=lambda: fields["raised"])
    order: Any = JobOrder(job=job_spec(optimizer="O"), run_dir="/run", fail_on_error=0.5)
    return _unsound(order, context, [SimpleNamespace(**fields)], cut=cut)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("problem", "verdict"),
    [
        ({}, None), ({"taken": 0, "scored": 0}, None), ({"unmeasured": 2}, None),
        (
            {"unmeasured": 3},
            ("NotMeasured", "3 of 4 evaluations could not be measured, the last because of: busy"),
        ),
        ({"unmeasured": 4}, ("NothingMeasured", "4 of 4 evaluations could not be measured, the last because of: busy")),
        ({"scored": 0}, ("NothingScored", "none of 4 evaluations earned a score, the last: invalid: no")),
        ({"raised": "every one"}, ("TaskRaised", "every one")),
    ],
)  # fmt: skip
def test_a_job_that_measured_or_scored_too_little_is_not_sound(problem: Any, verdict: Any) -> None:
    assert why(Trained(), **problem) == verdict


@pytest.mark.parametrize(
    ("answers", "cut", "verdict", "flags"),
    [
        ({"answered": 1, "failed": 3}, False, None, []),
        ({"failed": 2, "last_failure": "no"}, False, ("NoModelAnswered", UNANSWERED.format(2)), []),
        ({"failed": 1, "last_failure": "no"}, False, ("NoModelAnswered", UNANSWERED.format(1)), []),
        ({"failed": 1}, True, None, ["no-model-calls"]),
        ({"failed": 2, "last_failure": "no"}, True, ("NoModelAnswered", UNANSWERED.format(2)), []),
        ({}, False, None, ["no-model-calls"]),
        ({"answered": 1, "failed": 1, "missed": 1, "last_failure": "gone"}, False, ("RecordingLeft", "gone"), []),
    ],
)  # fmt: skip
def test_a_trainer_that_asks_a_model_has_to_be_answered(
    answers: Any, cut: bool, verdict: Any, flags: list[str]
) -> None:
    context = Trained(uses_model=True, **answers)
    assert (why(context, cut=cut), [event.name for event in context.events]) == (verdict, flags)
    if not answers.get("missed"):
        for other in (Trained(**answers), Trained(uses_model=True, free=True, **answers)):
            assert (why(other, cut=cut), other.events) == (None, [])


@pytest.mark.parametrize(
    ("proposed", "lost"),
    [((3, 0), False), ((4, 2), False), ((4, 1), True), ((5, 2), True), ((6, 3), False), ((0, 0), False)],
)
def test_most_proposals_lost_is_a_remark_from_four_on(proposed: tuple[int, int], lost: bool) -> None:
    context = Trained(proposed)
    assert why(context) is None
    words = f"{proposed[1]} of {proposed[0]} proposals could be used"
    assert [(e.name, e.reason) for e in context.events] == ([("proposals-lost", words)] if lost else [])


def test_a_failed_job_is_scored_if_it_found_something() -> None:
    problems = [SimpleNamespace(best=SimpleNamespace(id=id_)) for id_ in ("c0", "c1")]
    found = {status: [_worth_scoring(status, p) for p in problems] for status in ("ok", "failed", "skipped")}  # type: ignore[arg-type]
    assert found == {"ok": [True, True], "failed": [False, True], "skipped": [False, False]}


def told(*candidates: str, is_cut: bool = False) -> Told:
    keys = {key: f"c{i}" for i, key in enumerate(candidates)}
    return Told(
        calls=(), candidates=keys, measured=(), results={}, is_cut=is_cut, seconds=0.0, waited=0.0, measuring=0.0
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "fields", "verdict"),
    [
        ("iab", "iab", {}, ("same", "the same candidates in the same order")),
        ("iab", "ab", {}, ("same", "the same candidates in the same order")),
        ("iab", "iba", {}, ("differs", "in the place of `c1` came `c2`")),
        ("iabc", "iacb", {}, ("differs", "in the place of `c2` came `c3`")),
        ("iab", "iba", {"any_order": "a pool"}, ("same set", "the same candidates in another order, as may be: a pool")),
        ("iab", "iba", {"workers": 2}, ("same set", "the same candidates in another order, as may be: the run evaluated 2 at a time")),
        ("iab", "ia", {}, ("differs", "the twin never had `c2`")),
        ("iabcdefg", "ia", {}, ("differs", "the twin never had `c2`, `c3`, `c4`, `c5`, `c6`")),
        ("iab", "iab", {"gone": "it asked"}, ("differs", "it asked, and no cap had ended the job")),
        ("iab", "iabz", {"gone": "it asked", "is_cut": True}, ("same", "the same candidates in the same order")),
        ("iab", "iaz", {"gone": "it asked", "is_cut": True}, ("differs", "the twin never had `c2`: it asked")),
    ],
)  # fmt: skip
def test_a_twin_visits_the_same_candidates_in_the_same_order_or_says_why_not(
    ours: str, theirs: str, fields: Any, verdict: Any
) -> None:
    answering: Any = SimpleNamespace(visited=dict.fromkeys(theirs), gone=fields.get("gone", ""))
    twin: Any = SimpleNamespace(any_order=fields.get("any_order", ""))
    found = _judge(told(*ours, is_cut=fields.get("is_cut", False)), answering, twin, workers=fields.get("workers", 1))
    assert found == verdict


def test_equal_values_and_prompts_are_written_alike() -> None:
    assert (
        key_of({"b": 1, "a": [" x ", True]}) == key_of({"a": ["x", True], "b": 1.0}) == '{"a": ["x", true], "b": 1.0}'
    )
    assert key_of({"a": True}) != key_of({"a": 1})
    assert prompt_of([{"role": "user", "content": "é"}, {}]) == '[["user", "é"], [null, null]]'
    assert shared(("a", "a", "b"), ("a", "b", "b")) == 2


class Options(BaseModel, extra="forbid"):
    num_steps: int = 3
    name: str = "x"


TRAINER = TrainerSpec(
    name="T", title="t", loader="t:t", settings=f"{__name__}:Options", setting_aliases={"steps": "num_steps"}
)
TASK = TaskSpec(name="t", title="t", loader="t:t", options=f"{__name__}:Options")


def test_settings_are_those_that_are_known_under_their_full_names_with_defaults() -> None:
    assert known_names(TRAINER) == {"num_steps", "name", "steps"}
    assert known_names(TASK) == {"num_steps", "name"}
    assert known_names(TASK.model_copy(update={"options": None})) == set()
    assert known_names(TRAINER.model_copy(update={"settings": None})) is None
    assert resolve_settings(TRAINER, shared={"steps": 5, "other": 1}, own={"name": "y"}, where="w") == {
        "num_steps": 5,
        "name": "y",
    }
    assert resolve_settings(TRAINER, shared={"steps": 5}, own={"num_steps": 7}, where="w") == {
        "num_steps": 7,
        "name": "x",
    }
    anything = TRAINER.model_copy(update={"settings": None})
    assert resolve_settings(anything, shared={"a": 1, "b": 1}, own={"b": 2}, where="w") == {"a": 1, "b": 2}
    assert resolve_options(TASK, task_id="s:t", shared={"num_steps": 5, "other": 1}, own={}, where="w") == {
        "num_steps": 5,
        "name": "x",
    }


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"num_stps": 1}, "w: `T` has no setting `num_stps`. Did you mean `num_steps`?"),
        (
            {"seeds": 1},
            "w: `T` has no setting `seeds`. `seeds` holds for all jobs and stands at the top of the config.",
        ),
        ({"temperature": 1}, "w: `T` has no setting `temperature`. Of models it is written `llm: {temperature: 1}`."),
        ({"num_steps": "x" * 99}, f"w: `num_steps` of `T`: Input should be a valid integer, not '{'x' * 59}."),
        ({"steps": 1, "num_steps": 2}, "w: `num_steps` and another name both set `num_steps` of `T`."),
        ({"name": {1}}, "w: settings of `T` must be plain data: Object of type set is not JSON serializable."),
    ],
)
def test_a_setting_that_is_none_is_refused_with_what_was_meant(own: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_settings(TRAINER, shared={}, own=own, where="w")
    assert str(caught.value) == words


def test_an_option_that_is_none_is_refused_with_the_command_that_lists_them() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_options(TASK, task_id="s:t", shared={}, own={"zzz": 1}, where="w")
    assert (str(caught.value), caught.value.hint) == ("w: `t` has no setting `zzz`.", "trace-bench list-tasks s:t")
    with pytest.raises(ConfigError, match=r"^w: task `t` takes no eval_kwargs, and `a` is given\.$"):
        resolve_options(TASK.model_copy(update={"options": None}), task_id="s:t", shared={}, own={"a": 1}, where="w")
    with pytest.raises(ConfigError) as caught:
        resolve_settings(TRAINER, shared={}, own={"zzz": 1}, where="w")
    assert caught.value.hint == "trace-bench list-trainers T"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"run": "nowhere"}, "w.run: there is no run `nowhere`, here or in `{runs}`."),
        ({"run": "run", "job": "zzz"}, "w.job: run `run` has no job `zzz`."),
        ({"run": "run"}, "w.job: several jobs of run `run` fit: `{a0}` (A, seed 0), `{a1}` (A, seed 1); name one."),
        ({"run": "run", "job": "{b0}"}, "w: job `{b0}` optimised `s:y`, not `s:x`."),
        ({"run": "run", "job": "{a0}"}, "w: job `{a0}` has no best candidate, it is `ok`."),
        ({"run": "run", "job": "{a1}"}, "w: job `{a1}` has no best candidate, it is `not_run`."),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_words(tmp_path: Path, source: Any, words: str) -> None:
    statuses: Any = {("A", "s:x", 1): "not_run"}
    run = make_run(tmp_path / "run", lambda *_: 1.0, trainers=("A",), seeds=range(2), statuses=statuses)
    jobs = {f"{'a' if j.task_id == 's:x' else 'b'}{j.seed}": j.job_id for j in run.planned} | {"runs": str(tmp_path)}
    named = InitialFrom(**{name: text.format(**jobs) for name, text in source.items()})
    with pytest.raises(ConfigError) as caught:
        read_start(named, task_id="s:x", runs_dir=str(tmp_path), where="w")
    assert str(caught.value) == words.format(**jobs)
    if "`not_run`" in words:
        assert caught.value.hint == f"trace-bench resume {tmp_path}/run"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('app = typer.Typer(help="Do it.")', "Do it."), ("app = typer.Typer()", ""), ('other = typer.Typer(help="No.")', ""),
        ('@app.command()\ndef go():\n    """Go on.\n\n    More."""', "Go on.\n\nMore."),
        ('@app.callback()\ndef all_():\n    """All of it."""\n@app.command()\ndef go():\n    """Go."""', "All of it."),
        ('@other.command()\ndef go():\n    """Go."""', ""), ("app = (", ""), ("app = typer.Typer(help=words)", ""),
    ],
)  # fmt: skip
def test_a_plugins_command_is_announced_by_what_it_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    package = tmp_path / f"announced{abs(hash(text))}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cli.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert headline(EntryPoint("x", f"{package.name}.cli:app", "g")) == words
    assert headline(EntryPoint("x", f"{package.name}:app", "g")) == ""
    assert headline(EntryPoint("x", "nothing_of_this_name.cli:app", "g")) == ""


def test_ranges_of_addresses_that_touch_are_one_and_hold_what_lies_within() -> None:
    joined = _joined([(30, 40, 1), (0, 10, 2), (10, 20, 3), (32, 36, 0), (20, 21, 0)])
    assert joined == [(0, 21, 0), (30, 40, 0)]
    inside = {
        (0, 21): True,
        (5, 6): True,
        (0, 22): False,
        (21, 22): False,
        (29, 31): False,
        (30, 40): True,
        (39, 41): False,
    }
    assert {(s, e): _holds(joined, [(s, e, 0)]) for s, e in inside} == inside
    assert _holds(joined, [(0, 1, 0), (35, 36, 0)])
    assert not _holds(joined, [(0, 1, 0), (25, 26, 0)])
    assert _holds([], [])


def test_a_line_of_a_map_is_read_with_its_rights_and_name() -> None:
    line = b"7f00a000-7f00b000 rw-s 00000000 08:01 131 /dev/shm/a b"
    assert _mapping(line) == (0x7F00A000, 0x7F00B000, "rw-s", 131, "/dev/shm/a b")
    shared_ones = [_mapping(b"0-1 %s 0 0:0 0" % rights).is_shared for rights in (b"rw-s", b"r--s", b"rw-p", b"-w-s")]
    assert shared_ones == [True, False, False, True]
    assert _mapping(b"0-1 rw-p 0 0:0 0").name == ""
