import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.samples import job_spec, whole_job

from tracebench_core.specs import ErrorInfo, JobResult, ModelIdentity, TaskVersion, Usage
from tracebench_runs.events.reduce import not_run, reduce_job
from tracebench_runs.journal.trust import Trust
from tracebench_runs.results import tables as tables_module
from tracebench_runs.results.leaderboard import standings
from tracebench_runs.results.results import write_result
from tracebench_runs.results.rows import COLUMNS, group_of, make_row
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter, expected_tables
from tracebench_runs.storage.layout import RunLayout

END = RunEnd(exit_code=1, wall_seconds=2.5, cpu_seconds=1.5)


@pytest.fixture
def run(tmp_path):
    return RunLayout(tmp_path / "run").create()


def result(job, **changes):
    return reduce_job(whole_job(job)).model_copy(update=changes)


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def jobs_of(count, **changes):
    return [job_spec(job_id=f"{n:012x}", seed=n, **changes) for n in range(count)]


def test_the_columns_are_those_of_the_format_in_their_order():
    assert ", ".join(COLUMNS) == (
        "run_id, job_id, task_id, suite, trainer_id, seed, mode, status, stop_reason, score_val_initial, score_val_best, "
        "score_val_final, score_test_initial, score_test, best_step, steps, time_seconds, evaluations, llm_calls, prompt_tokens, "
        "completion_tokens, cached_tokens, usd, params, optimizer, guide, logger, eval_kwargs, llm_provider, llm_model, "
        "llm_base_url, task_version, plugin_version, isolation, error_type, feedback, started_at, ended_at, tb_logdir, "
        "estimated_tokens, llm_variant, spent_calls, spent_tokens, spent_usd, spent_estimated_tokens, used_llm_calls, "
        "evaluations_ok, evaluations_invalid, evaluations_timeout, evaluations_error, evaluations_not_measured, "
        "score_test_lowest, score_test_highest, self_reported, judge_version, judge_digest, calibration, python, "
        "label, gain_content, gain_form"
    )


def test_a_row_says_what_the_job_was_and_how_it_ended(run):
    job = job_spec(
        params={"k": 3, "a": [1]},
        optimizer="Proposer",
        optimizer_kwargs={"memory": 5},
        eval_kwargs={"n": 2},
        logger="ConsoleLogger",
        models={
            "agent": ModelIdentity(provider="p", model="other"),
            "optimizer": ModelIdentity(provider="p", model="m", base_url="http://x"),
        },
        task_version=TaskVersion(comparability=2),
    )
    run.job(job.job_id).tensorboard.mkdir(parents=True)
    writer = TableWriter(run, [job])
    writer.add(
        job, result(job, error=ErrorInfo(type="E", message="m"), feedback='E: "quoted", and\nmore', ended_at="2026")
    )
    writer.finish(END)
    (row,) = rows_of(run.results_csv)
    assert row == {
        "run_id": "run",
        "job_id": "0123456789ab",
        "task_id": "suite:task",
        "suite": "suite",
        "trainer_id": "Climber",
        "seed": "1",
        "mode": "stub",
        "status": "ok",
        "stop_reason": "completed",
        "score_val_initial": "1.0",
        "score_val_best": "2.0",
        "score_val_final": "",
        "score_test_initial": "",
        "score_test": "1.5",
        "best_step": "0",
        "steps": "1",
        "time_seconds": "0.75",
        "evaluations": "2",
        "llm_calls": "1",
        "prompt_tokens": "10",
        "completion_tokens": "5",
        "cached_tokens": "0",
        "usd": "0.5",
        "params": '{"a":[1],"k":3}',
        "optimizer": 'Proposer {"memory":5}',
        "guide": "",
        "logger": "ConsoleLogger",
        "eval_kwargs": '{"n":2}',
        "llm_provider": "p",
        "llm_model": "m",
        "llm_base_url": "http://x",
        "task_version": "2.1",
        "plugin_version": "1.2.3",
        "isolation": "",
        "error_type": "E",
        "feedback": 'E: "quoted", and\nmore',
        "started_at": "",
        "ended_at": "2026",
        "tb_logdir": "jobs/0123456789ab/tb",
        "estimated_tokens": "0",
        "llm_variant": "",
        "spent_calls": "",
        "spent_tokens": "",
        "spent_usd": "",
        "spent_estimated_tokens": "",
        "used_llm_calls": "1",
        "evaluations_ok": "2",
        "evaluations_invalid": "0",
        "evaluations_timeout": "0",
        "evaluations_error": "0",
        "evaluations_not_measured": "0",
        "score_test_lowest": "",
        "score_test_highest": "",
        "self_reported": "",
        "judge_version": "",
        "judge_digest": "",
        "calibration": "",
        "python": "",
        "label": "",
        "gain_content": "",
        "gain_form": "",
    }


@given(
    st.text(),
    st.none() | st.floats(allow_nan=False),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)
def test_any_row_reads_back(feedback, score, params):
    job = job_spec(params=params)
    row = make_row(job, result(job, feedback=feedback, score_test=score), group=group_of(job), run_id="r")
    (cells,) = csv.reader(io.StringIO(row.csv.decode(), newline=""))
    read = dict(zip(COLUMNS, cells, strict=True))
    assert json.loads(read["params"]) == params
    assert (float(read["score_test"]) if read["score_test"] else None) == score


def test_rows_stand_in_plan_order_and_the_rest_is_not_run(run):
    jobs = jobs_of(4)
    writer = TableWriter(run, jobs)
    for job in (jobs[2], jobs[0]):
        writer.add(job, result(job))
    assert writer.maybe_write(0.0)
    assert [row["seed"] for row in rows_of(run.results_csv)] == ["0", "2"]
    assert json.loads(run.summary.read_bytes())["counts"] == {
        "ok": 2, "failed": 0, "timeout": 0, "cancelled": 0, "skipped": 0, "not_run": 2, "unscored": 0
    }  # fmt: skip
    writer.finish(END)
    assert [(row["seed"], row["status"]) for row in rows_of(run.results_csv)] == [
        ("0", "ok"), ("1", "not_run"), ("2", "ok"), ("3", "not_run")
    ]  # fmt: skip


def test_tables_are_rewritten_when_something_changed_and_at_most_once_a_second(run):
    job = job_spec()
    writer = TableWriter(run, [job])
    assert writer.maybe_write(10.0)
    assert not writer.maybe_write(20.0)
    writer.add(job, result(job))
    assert writer.maybe_write(20.0)
    writer.add(job, result(job))
    assert not writer.maybe_write(20.9)
    assert writer.maybe_write(60.0)


def test_costly_tables_are_rewritten_less_often(run, monkeypatch):
    monkeypatch.setattr(tables_module, "SHARE", 1e-9)
    job = job_spec()
    writer = TableWriter(run, [job])
    writer.maybe_write(0.0)
    writer.add(job, result(job))
    assert not writer.maybe_write(100.0)


def test_a_job_that_ran_again_has_one_row(run):
    job = job_spec()
    writer = TableWriter(run, [job])
    writer.add(job, result(job, status="failed"))
    writer.add(job, result(job))
    writer.finish(END)
    assert [row["status"] for row in rows_of(run.results_csv)] == ["ok"]
    assert json.loads(run.summary.read_bytes())["usage"]["total"]["llm_calls"] == 1


def test_a_resumed_run_writes_what_an_undisturbed_one_would(run):
    jobs = jobs_of(5)
    for job in jobs[:3]:
        run.job(job.job_id).fresh()
        write_result(run.job(job.job_id), result(job), durable=False)
    whole = TableWriter(run, jobs)
    for job in jobs:
        whole.add(job, result(job))
    resumed = TableWriter(run, jobs)
    resumed.load([job.job_id for job in jobs[:3]])
    for job in reversed(jobs[3:]):
        resumed.add(job, result(job))
    assert resumed.render(END) == whole.render(END)


def test_results_of_before_are_read_bit_by_bit_and_never_over_newer_ones(run, monkeypatch):
    jobs = jobs_of(3)
    for job in jobs[:2]:
        run.job(job.job_id).fresh()
        write_result(run.job(job.job_id), result(job, status="failed"), durable=False)
    resumed = TableWriter(run, jobs)
    resumed.load([job.job_id for job in jobs[:2]])
    resumed.add(jobs[1], result(jobs[1]))
    monkeypatch.setattr(tables_module, "INTERVAL", -1.0)
    assert not resumed.maybe_write(0.0)
    assert not run.results_csv.exists()
    resumed.finish(END)
    assert [row["status"] for row in rows_of(run.results_csv)] == ["failed", "ok", "not_run"]


def test_tables_follow_from_the_results_on_disk_and_keep_how_the_run_ended(run):
    jobs = jobs_of(3)
    writer = TableWriter(run, jobs)
    for job in jobs[:2]:
        run.job(job.job_id).fresh()
        write_result(run.job(job.job_id), result(job), durable=False)
        writer.add(job, result(job))
    writer.finish(END)
    written = {path: path.read_bytes() for path in (run.results_csv, run.leaderboard_csv, run.summary)}
    assert written == expected_tables(run, jobs, trust=Trust())


def test_the_summary_adds_up_by_role_and_an_unknown_price_stays_unknown(run):
    jobs = jobs_of(2)
    writer = TableWriter(run, jobs)
    usage = {"optimizer": Usage(llm_calls=2, prompt_tokens=7, usd=0.1), "agent": Usage(llm_calls=1, usd=None)}
    writer.add(jobs[0], result(jobs[0], usage=usage))
    writer.add(jobs[1], result(jobs[1], usage={"optimizer": Usage(llm_calls=1, usd=0.2)}))
    writer.finish(END)
    summary = json.loads(run.summary.read_bytes())
    assert summary["usage"]["optimizer"]["llm_calls"] == 3
    assert summary["usage"]["optimizer"]["usd"] == pytest.approx(0.3)
    assert summary["usage"]["agent"]["usd"] is None
    assert (summary["usage"]["total"]["llm_calls"], summary["usage"]["total"]["usd"]) == (4, None)
    assert (summary["exit_code"], summary["wall_seconds"], summary["cpu_seconds"]) == (1, 2.5, 1.5)
    assert (summary["jobs"], summary["evaluations"]) == (2, 4)


def board(*entries):
    """Standings of `(trainer, score_test, score_val, status)` entries of one task."""
    rows = []
    for seed, (trainer, test, val, status) in enumerate(entries):
        job = job_spec(trainer_id=trainer, seed=seed)
        rows.append(
            make_row(
                job, result(job, score_test=test, score_val_best=val, status=status), group=group_of(job), run_id="r"
            )
        )
    return [(s.rank, s.group.trainer_id, s.score, len(s.scores), s.mean) for s in standings(rows)]


def test_trainers_rank_by_their_mean_over_seeds():
    entries = [("A", 1.0, 9.0, "ok"), ("B", 3.0, 0.0, "ok"), ("A", 4.0, 9.0, "ok")]
    assert board(*entries) == [(1, "B", "test", 1, 3.0), (2, "A", "test", 2, 2.5)]


def test_jobs_held_differently_are_ranked_apart():
    levels = {1: "strong", 2: "strong", 3: "process"}
    rows = []
    for seed in range(4):
        job = job_spec(trainer_id="AB"[seed % 2], seed=seed)
        versions = {"isolation": levels[seed]} if seed in levels else {}
        rows.append(
            make_row(job, result(job, score_test=float(seed), versions=versions), group=group_of(job), run_id="r")
        )
    found = [(s.isolation, s.rank, s.group.trainer_id, s.scores) for s in standings(rows)]
    assert found == [("strong", 1, "A", [0.0, 2.0]), ("strong", 1, "B", [1.0]), ("process", 1, "B", [3.0])]


def test_equal_means_share_a_rank_and_the_next_is_left_out():
    means = {"A": 1.0, "B": 2.0, "E": -0.5, "C": 2.0, "D": 0.0}
    entries = [(trainer, mean, None, "ok") for trainer, mean in means.items()]
    ranked = [(1, "B"), (1, "C"), (3, "A"), (4, "D"), (5, "E")]
    assert [(rank, trainer) for rank, trainer, *_ in board(*entries)] == ranked


def test_without_a_score_there_is_no_rank():
    entries = [
        ("A", None, None, "failed"),
        ("B", None, 1.0, "ok"),
        ("C", None, 5.0, "failed"),
        ("D", None, float("nan"), "ok"),
    ]
    assert board(*entries) == [
        (1, "B", "validation", 1, 1.0), (None, "A", "validation", 0, None), (None, "C", "validation", 0, None),
        (None, "D", "validation", 0, None),
    ]  # fmt: skip


def test_test_and_validation_scores_are_never_mixed():
    assert board(("A", 1.0, 9.0, "ok"), ("B", None, 9.0, "ok")) == [
        (1, "A", "test", 1, 1.0),
        (None, "B", "test", 0, None),
    ]


def test_a_timed_out_job_counts_with_the_best_it_had():
    assert board(("A", 1.0, None, "ok"), ("A", 2.0, None, "timeout"), ("A", 9.0, None, "cancelled")) == [
        (1, "A", "test", 2, 1.5)
    ]


def test_scores_of_other_versions_guides_or_options_are_another_task(run):
    jobs = [
        job_spec(job_id="a"), job_spec(job_id="b", eval_kwargs={"n": 1}), job_spec(job_id="c", guide="Other"),
        job_spec(job_id="d", task_version=TaskVersion(comparability=2)), job_spec(job_id="e", params={"k": 1}),
    ]  # fmt: skip
    writer = TableWriter(run, jobs)
    for job in jobs:
        writer.add(job, result(job))
    writer.finish(END)
    assert [row["rank"] for row in rows_of(run.leaderboard_csv)] == ["1", "1", "1", "1", "1"]
    assert [row["params"] for row in rows_of(run.leaderboard_csv)] == ["{}", '{"k":1}', "{}", "{}", "{}"]


def test_the_leaderboard_tells_counts_and_interval(run):
    jobs = jobs_of(6)
    writer = TableWriter(run, jobs)
    for job, score in zip(jobs[:4], (1.0, 2.0, 3.0, 4.0), strict=True):
        writer.add(job, result(job, score_test=score))
    failed = {"status": "failed", "score_test": None}
    writer.add(jobs[4], result(jobs[4], **failed))
    writer.finish(END)
    (row,) = rows_of(run.leaderboard_csv)
    assert (row["n"], row["mean"], row["jobs"], row["ok"], row["failed"], row["timeout"], row["other"]) == (
        "4", "2.5", "6", "4", "1", "0", "1"
    )  # fmt: skip
    assert float(row["ci95_high"]) - 2.5 == pytest.approx(3.182446 * (5 / 3 / 4) ** 0.5, rel=1e-6)
    assert not_run(jobs[5]).status == "not_run"


scores = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(st.sampled_from("ABCD"), scores), max_size=12))
def test_ranks_order_means(entries):
    found = board(*((trainer, score, None, "ok") for trainer, score in entries))
    means = [mean for *_, mean in found]
    assert means == sorted(means, reverse=True)
    assert [rank for rank, *_ in found] == [1 + sum(m > mean for m in means) for mean in means]
    assert JobResult.model_fields["score_test"].default is None
