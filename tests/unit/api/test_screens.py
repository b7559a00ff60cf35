"""What `show`, `runs`, `compare` and `verify` print of a run in which something of everything went wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from tests.unit.analysis.runs import make_run
from typer.testing import CliRunner

from tracebench_core.specs import Budget, JobStatus, Range
from tracebench_core.specs.job import ProposalCounts
from tracebench_engine.cli.app import app
from tracebench_engine.cli.parts.describing import _type, _words
from tracebench_engine.cli.results.runs import _named
from tracebench_engine.cli.results.show import _line_row, left_out_text, spent_text
from tracebench_engine.cli.results.standings import probability_text
from tracebench_engine.cli.running.plan import _cell, _design_words, _each, _range_words
from tracebench_runs.reading.reader import Run

ODD: dict[tuple[str, str, int], JobStatus] = {
    ("A", "s:x", 1): "failed", ("B", "s:x", 2): "timeout", ("C", "s:x", 0): "not_run", ("C", "s:y", 2): "skipped",
}  # fmt: skip


def ended(trainer: str, task: str, seed: int) -> dict[str, Any]:
    more: dict[str, Any] = {"time_seconds": 1.5 + seed, "score_val_final": 0.125}
    if trainer == "A":
        more["evaluations_by_status"] = {"ok": 7, "invalid": 2, "timeout": 1}
        more["exceptions"] = [{"type": "KeyError", "file": "t.py", "line": 3, "count": 2}] if task == "s:x" else []
        more["flags"] = {"late": "it was late"} if seed else {}
    if trainer == "B":
        more["proposals"] = ProposalCounts(asked=4, usable=3, duplicate=1)
        more["self_reported"] = ["speed"] if task == "s:y" else []
    return more | ({"stop_reason": "error", "feedback": "it broke"} if (trainer, task, seed) in ODD else {})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scores = {"A": 1.0, "B": 0.5, "C": 0.25}
    made = make_run(
        tmp_path_factory.mktemp("screens") / "odd", lambda trainer, _, seed: scores[trainer] + seed / 10, trainers=tuple(scores),
        seeds=range(3), statuses=ODD, ended=ended, budget=Budget(evaluations=40),
        planned=lambda trainer, _: {"label": "Cee", "params": {"n": 3}} if trainer == "C" else {},
    )  # fmt: skip
    counts = {"ok": 14, "failed": 1, "timeout": 1, "skipped": 1, "not_run": 0}
    summary = {"overshoot": {"usd": 0.25}, "counts": counts, "usage": {"total": {"llm_calls": 7, "usd": 0.5}}}
    made.layout.summary.write_text(json.dumps(summary))
    return made


@pytest.fixture
def cli(run: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(run.layout.path.parent)
    monkeypatch.setenv("COLUMNS", "140")
    return lambda line: CliRunner().invoke(app, line.split())


def job(run: Run, trainer: str, task: str, seed: int) -> str:
    (found,) = (j.job_id for j in run.planned if (j.trainer_id, j.task_id, j.seed) == (trainer, task, seed))
    return found


def test_a_run_is_shown_with_its_jobs_and_what_is_odd_about_them(run: Run, cli: Any) -> None:
    done: Result = cli("show odd")
    assert done.exit_code == 0
    board, jobs = done.stdout.split("\n\n")
    assert board.splitlines() == [
        "trainer\tscore\t95 %\tIQM\tIQM 95 %\tn\tfailed\tgap\trank\tevaluations\tcalls\ttokens\tusd\tseconds\tproposals",
        "B\t0.5\t0.406 to 0.594\t0.5\t0.417 to 0.583\t6/6\t0\t0\t2.00\t10\t0\t0\t0.01\t0.00\t18/24",
        "A\t0.764\t0.0904 to 1.44\t0.896\t0.417 to 1\t6/6\t1\t0\t1.00\t10\t0\t0\t0.01\t0.00\t-",
        "Cee\t0.292\t0.165 to 0.418\t0.292\t0.25 to 0.333\t4/6\t0\t0\t3.00\t10\t0\t0\t0.01\t0.00\t-",
    ]
    head, *rows = jobs.splitlines()
    assert head == "job\ttask\ttrainer\tseed\tstatus\tinitial\tbest\ttest\tevaluations\tcalls\ttokens\tusd\tseconds"
    for row in (
        f"{job(run, 'A', 's:x', 1)}\ts:x\tA\t1\tfailed\t0\t1.1\t1.1\t10\t0\t0\t0.01\t2.5",
        f"{job(run, 'C', 's:x', 0)}\ts:x\tCee\t0\tnot_run\t-\t-\t-\t-\t-\t-\t-\t-",
        f"{job(run, 'C', 's:y', 0)}\ts:y\tCee\t0\tok\t0\t0.25\t0.25\t10\t0\t0\t0.01\t1.5",
    ):
        assert row in rows
    assert len(rows) == 18
    notes = done.stderr.splitlines()
    assert notes[0] == "odd: 14 ok, 1 failed, 1 timeout, 1 not_run, 1 skipped"
    assert notes[-8:] == [
        "Evaluations by A: 42 ok, 12 invalid, 6 timeout.",
        "Exceptions in the code of s:x: of 30 evaluations 6 raised KeyError (line 3 of t.py).",
        "4 jobs are flagged late: it was late",
        "the run went 0.25 usd past its budget",
        "self-reported by the candidates of `s:y`: speed",
        "Head:  not chained: the run was begun by a version that kept no chain",
        f"One of them:  trace-bench show odd/jobs/{job(run, 'A', 's:x', 0)}",
        "Continue:  trace-bench resume odd",
    ]


@pytest.mark.parametrize(
    ("of", "lines"),
    [
        (
            ("A", "s:x", 1),
            [
                "task:       s:x", "trainer:    A", "seed:       1", "mode:       stub", "status:     failed (error)",
                "validation: 0 -> 1.1 (best) -> 0.125 (last)", "test:       0 -> 1.1",
                "used:       10 evaluations, 0 calls, 0 tokens, 0.01 USD, 2.50 s", "evaluated:  7 ok, 2 invalid, 1 timeout",
                "raised:     2 of 10 evaluations raised KeyError (line 3 of t.py)", "feedback:   it broke",
            ],
        ),
        (
            ("B", "s:y", 0),
            [
                "task:       s:y", "trainer:    B", "seed:       0", "mode:       stub", "status:     ok (completed)",
                "validation: 0 -> 0.5 (best) -> 0.125 (last)", "test:       0 -> 0.5",
                "used:       10 evaluations, 0 calls, 0 tokens, 0.01 USD, 1.50 s",
                "by itself:  self-reported by the candidates: speed",
            ],
        ),
        (
            ("C", "s:y", 1),
            [
                "task:       s:y", 'trainer:    C {"n": 3}', "label:      Cee", "seed:       1", "mode:       stub",
                "status:     ok (completed)", "validation: 0 -> 0.35 (best) -> 0.125 (last)", "test:       0 -> 0.35",
                "used:       10 evaluations, 0 calls, 0 tokens, 0.01 USD, 2.50 s",
            ],
        ),
    ],
)  # fmt: skip
def test_a_job_is_shown_by_the_facts_that_there_are(run: Run, cli: Any, of: Any, lines: list[str]) -> None:
    path = f"odd/jobs/{job(run, *of)}"
    whole = [f"job:        {job(run, *of)} of odd", *lines, f"files:      {path}"]
    assert cli(f"show {path}").stdout.splitlines() == whole


def test_the_runs_of_a_folder_are_listed_with_what_their_summaries_say(cli: Any) -> None:
    assert cli("runs --runs-dir .").stdout.splitlines() == [
        "run\tstarted\tjobs\tstatus\ttasks\ttrainers\tcalls\tusd",
        "odd\t-\t18\t14 ok, 1 failed, 1 timeout, 1 skipped\ts:x, s:y\t\t7\t0.5",
    ]
    assert [_named(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a, b", "a, b +1"]


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("show odd --evaluation 1", "`--evaluation` is of a job, not of a run.", "trace-bench show JOB --evaluation N"),
        (
            "verify odd --head zz",
            "`zz` is no head: it has 64 hexadecimal digits, of which the first 16 will do.",
            "trace-bench show odd prints the present one",
        ),
        ("verify --twin odd --head 00", "`--twin` takes one job, or one run.", "trace-bench verify --twin odd"),
        ("verify --twin odd odd", "`--twin` takes one job, or one run.", "trace-bench verify --twin odd"),
        ("verify odd odd --head 00", "`--head` is of one run, not of a report.", "trace-bench verify RUN --head HEX"),
    ],
)
def test_what_is_asked_of_the_wrong_thing_is_refused_with_what_works(
    cli: Any, line: str, words: str, hint: str
) -> None:
    done = cli(line)
    assert done.exit_code == 1
    assert (str(done.exception), getattr(done.exception, "hint", "")) == (words, hint)


def test_a_run_whose_journal_is_gone_is_lost(cli: Any) -> None:
    done = cli("verify odd")
    assert (done.exit_code, done.stdout) == (1, "lost: the journal is gone or emptied: nothing vouches for the run.\n")
    assert done.stderr == "More:  trace-bench fsck odd\n"


def used(role: str, calls: int, estimated: int, usd: float | None) -> dict[str, Any]:
    return {
        "role": role, "model": "m", "llm_calls": calls, "prompt_tokens": 30, "completion_tokens": 10, "estimated_tokens": estimated,
        "usd": usd,
    }  # fmt: skip


def test_what_was_spent_is_a_sentence_with_each_role_where_there_are_several() -> None:
    one, other = used("agent", 2, 0, 0.5), used("judge", 1, 10, None)
    assert spent_text(None) == spent_text({"by": [], "total": one}) == ""
    assert spent_text({"by": [one], "total": one}) == "2 calls, 40 tokens, 0.5 USD over all attempts (agent m)"
    assert spent_text({"by": [one, other], "total": other}) == (
        "1 calls, 40 tokens (25% estimated), - USD over all attempts (agent m: 2 calls, 40 tokens, 0.5 USD; "
        "judge m: 1 calls, 40 tokens (25% estimated), - USD)"
    )
    assert left_out_text({"top_p": 1, "seed": 2}) == "top_p (1 call), seed (2 calls)"
    assert left_out_text({}) == ""


def test_a_line_of_an_overview_shows_a_dash_for_what_is_not_known() -> None:
    line = dict.fromkeys(
        ("ci95_low", "ci95_high", "rank", "label", "mean", "used_llm_calls", "used_tokens", "used_usd", "used_seconds"), ""
    )  # fmt: skip
    line |= {
        "params": "{}",
        "task_id": "t",
        "trainer_id": "T",
        "score": "test",
        "n": "2",
        "jobs": "3",
        "failed": "1",
        "timeout": "0",
    }
    line["used_evaluations"] = "12.5"
    assert _line_row(line) == ("t", "-", "T", "-", "test", "2", "-", "-", "3", "1", "0", "12.5", "-", "-", "-", "-")
    line |= {"ci95_low": "0.25", "ci95_high": "1", "rank": "1", "label": "L", "mean": "0.5", "params": '{"n": 3}'}
    assert _line_row(line)[1:8] == ("1", "L", '{"n": 3}', "test", "2", "0.5", "0.25 to 1")


def test_a_probability_has_three_digits_or_is_told_to_be_smaller() -> None:
    assert [probability_text(p) for p in (None, 0.0009, 0.001, 0.25, 1.0)] == ["-", "<0.001", "0.001", "0.250", "1.000"]


HALF = "; half of it takes 9 seeds"


def test_amounts_of_a_plan_are_one_number_where_they_are_known() -> None:
    known, open_ = Range(low=3, likely=3, high=3), Range(low=1, likely=2.5, high=12345.678)
    assert [_cell(each) for each in (None, known, open_)] == ["unknown", "3", "1/2.5/1.235e+04"]
    assert [_range_words(each, unit=" s") for each in (None, known)] == ["unknown", "3 / 3 / 3 s"]
    assert [_each(each) for each in (None, 2.4, 0.0)] == ["unknown", "2", "0"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"seeds": 1, "smallest_in_sd": None}, "t: 1 seed a trainer cannot tell a difference: there is no spread to compare with"),
        (
            {"seeds": 2, "smallest_in_sd": 1.2345, "sd": None, "seeds_for_half": 9},
            "t: 2 seeds a trainer can tell a difference of 1.23 standard deviations; half of it takes 9 seeds",
        ),
        (
            {"seeds": 2, "smallest_in_sd": 1.5, "sd": 0.123456, "seeds_for_half": 9, "smallest_in_score": 0.1851840},
            "t: 2 seeds a trainer can tell a difference of 0.1852 in score (1.5 standard deviations; SD 0.1235 from past runs)" + HALF,
        ),
    ],
)  # fmt: skip
def test_what_seeds_can_tell_is_a_sentence(fields: dict[str, Any], words: str) -> None:
    assert _design_words({"task_id": "t", **fields}) == words


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"type": "integer"}, "integer"), ({"type": "integer", "minimum": 1}, "integer 1.."), ({"maximum": 0}, "any ..0"),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "number 0..1"), ({"const": "x"}, "x"), ({}, "any"),
        ({"enum": ["a", 1]}, "a | 1"), ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "null | string"),
    ],
)  # fmt: skip
def test_the_type_of_a_setting_is_told_with_its_bounds(shape: Any, words: str) -> None:
    assert _type(shape) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "3"), ([1, 2], "1, 2"), ([], ""), ({"a": 1, "b": None, "c": [], "d": {"e": "x"}}, "a 1, d e x"),
        ([{"a": 1}, {"b": 2}], "a 1; b 2"), ((), ""),
    ],
)  # fmt: skip
def test_a_value_is_told_in_words(value: Any, words: str) -> None:
    assert _words(value) == words
