"""One job as a row of `results.csv`, and as what the other tables add up."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

from tracebench_core.specs import AXES as BUDGET_AXES
from tracebench_core.specs import (
    FeedbackStatus,
    Gain,
    JobResult,
    JobSpec,
    JobStatus,
    ModelIdentity,
    ProposalCounts,
    Role,
    Usage,
)
from tracebench_runs.events.metering import total

SPENT = ("spent_calls", "spent_tokens", "spent_usd", "spent_estimated_tokens")
"""What all attempts at a job used together, from the ledger; empty where there is none."""
EVALUATIONS: tuple[FeedbackStatus, ...] = get_args(FeedbackStatus)
"""How an evaluation may come out, in the order of the columns that count them."""
COLUMNS = (
    "run_id", "job_id", "task_id", "suite", "trainer_id", "seed", "mode", "status", "stop_reason", "score_val_initial",
    "score_val_best", "score_val_final", "score_test_initial", "score_test", "best_step", "steps", "time_seconds",
    "evaluations", "llm_calls", "prompt_tokens", "completion_tokens", "cached_tokens", "usd", "params", "optimizer",
    "guide", "logger", "eval_kwargs", "llm_provider", "llm_model", "llm_base_url", "task_version", "plugin_version",
    "isolation", "error_type", "feedback", "started_at", "ended_at", "tb_logdir", "estimated_tokens", "llm_variant", *SPENT,
    "used_llm_calls", *(f"evaluations_{status}" for status in EVALUATIONS),
    "score_test_lowest", "score_test_highest", "self_reported", "judge_version", "judge_digest", "calibration", "python",
    "label", "gain_content", "gain_form",
)  # fmt: skip
_BEFORE_SPENT = COLUMNS[: COLUMNS.index(SPENT[0])]
_AFTER_SPENT = COLUMNS[len(_BEFORE_SPENT) + len(SPENT) :]
AXES = tuple(axis.name for axis in BUDGET_AXES)
PROPOSALS = tuple(ProposalCounts.model_fields)
USAGE_COUNTS = (
    "llm_calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cached_calls", "retries", "refused", "errors",
    "estimated_tokens",
)  # fmt: skip


class TaskKey(NamedTuple):
    """What makes two scores comparable: the task, its version, its guide and its options."""

    task_id: str
    version: str
    guide: str
    eval_kwargs: str


class GroupKey(NamedTuple):
    """What the seeds of one row of the leaderboard have in common."""

    task: TaskKey
    trainer_id: str
    params: str
    optimizer: str
    llm_variant: str = ""
    label: str = ""


class RoleUsage(NamedTuple):
    """Usage of one role: the counts in the order of `USAGE_COUNTS`, and the price."""

    role: Role
    counts: tuple[int, ...]
    usd: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One job, as small as the tables allow."""

    job_id: str
    line: bytes
    """Its line of `results.csv`, up to what was spent."""
    rest: bytes
    """The same, after what was spent."""
    group: GroupKey
    status: JobStatus
    score_val: float | None
    score_test: float | None
    evaluations: int
    used: tuple[float | None, ...]
    """By training, on each axis of a budget in order; None where it is not known."""
    proposals: tuple[int, ...]
    """What became of what a model was asked to propose, in the order of `PROPOSALS`."""
    by_status: tuple[int, ...] | None
    """The trainer's evaluations in the order of `EVALUATIONS`; None where it was not told."""
    usage: tuple[RoleUsage, ...]
    isolation: str
    """How untrusted code was held; empty where none ran."""
    spent: Usage | None = None
    """Over all attempts; None where no ledger tells."""
    gain: Gain | None = None

    @property
    def csv(self) -> bytes:
        """The whole line of `results.csv`."""
        spent = csv_line(spent_cells(self.spent), SPENT)
        return b",".join([self.line.removesuffix(b"\n"), spent.removesuffix(b"\n"), self.rest])


def make_row(job: JobSpec, result: JobResult, *, group: GroupKey, run_id: str, tb_logdir: str = "") -> Row:
    """Return the row of one job; `tb_logdir` is relative to the run directory."""
    cells = _cells(job, result, run_id=run_id, group=group) | {"tb_logdir": tb_logdir}
    return Row(
        job_id=job.job_id,
        line=csv_line(cells, _BEFORE_SPENT),
        rest=csv_line(cells, _AFTER_SPENT),
        group=group,
        status=result.status,
        score_val=result.score_val_best,
        score_test=result.score_test,
        evaluations=result.used.evaluations,
        used=tuple(getattr(result.used, axis) for axis in AXES),
        proposals=tuple(getattr(result.proposals, name) for name in PROPOSALS),
        by_status=_by_status(result),
        usage=tuple(
            RoleUsage(role, tuple(getattr(usage, name) for name in USAGE_COUNTS), usage.usd)
            for role, usage in result.usage.items()
        ),
        isolation=_isolation(result),
        gain=result.gain,
    )


def sharing(row: Row, share: Callable[[Any], Any]) -> Row:
    """Return a row of the values that `share` gives for its own: those in which jobs mostly are alike are held once."""
    alike = (row.rest, row.proposals, row.by_status, row.usage)
    rest, proposals, by_status, usage = map(share, alike)
    return replace(row, rest=rest, proposals=proposals, by_status=by_status, usage=usage)


def group_of(job: JobSpec) -> GroupKey:
    """Return the leaderboard group of a job."""
    version = f"{job.task_version.comparability}.{job.task_version.interface}"
    task = TaskKey(job.task_id, version, _label(job.guide, job.guide_kwargs), _compact(job.eval_kwargs))
    return GroupKey(
        task,
        job.trainer_id,
        _compact(job.params),
        _label(job.optimizer, job.optimizer_kwargs),
        job.llm_variant,
        job.label,
    )


def count_cells(by_status: Sequence[int] | None) -> dict[str, int | None]:
    """Return the cells of evaluations by status; empty ones where nothing is known."""
    counts = by_status if by_status is not None else (None,) * len(EVALUATIONS)
    return {f"evaluations_{status}": count for status, count in zip(EVALUATIONS, counts, strict=True)}


def spent_cells(spent: Usage | None) -> dict[str, Any]:
    """Return the cells of `SPENT`; None, which is an empty cell, where nothing is known."""
    amounts = (
        (spent.llm_calls, spent.tokens, spent.usd, spent.estimated_tokens)
        if spent is not None
        else (None,) * len(SPENT)
    )
    return dict(zip(SPENT, amounts, strict=True))


def csv_line(cells: Mapping[str, Any], columns: Iterable[str]) -> bytes:
    """Return one CSV line (RFC 4180, with a bare newline); None is an empty cell."""
    text = io.StringIO()
    csv.writer(text).writerow(
        [cells[name] for name in columns]
    )  # with its own line end, or it would not quote a lone `\r`
    return text.getvalue().removesuffix("\r\n").encode("utf-8", "backslashreplace") + b"\n"


def _cells(job: JobSpec, result: JobResult, *, run_id: str, group: GroupKey) -> dict[str, Any]:
    used = total(result.usage)
    model = _model(job.models)
    fields = result.model_dump(include=set(COLUMNS) & set(JobResult.model_fields) - {"steps"})
    return fields | {
        "run_id": run_id,
        "steps": len(result.steps),
        "evaluations": result.used.evaluations,
        "llm_calls": used.llm_calls,
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cached_tokens": used.cached_tokens,
        "usd": used.usd,
        "estimated_tokens": used.estimated_tokens,
        "params": group.params,
        "optimizer": group.optimizer,
        "guide": group.task.guide,
        "logger": _label(job.logger, job.logger_kwargs),
        "eval_kwargs": group.task.eval_kwargs,
        "llm_provider": model.provider if model else None,
        "llm_model": model.model if model else None,
        "llm_base_url": model.base_url if model else None,
        "llm_variant": job.llm_variant,
        "task_version": group.task.version,
        "plugin_version": result.versions.get("plugin") or job.plugin_version,
        "isolation": _isolation(result),
        "error_type": result.error.type if result.error else None,
        "used_llm_calls": result.used.llm_calls,
        **count_cells(_by_status(result)),
        "score_test_lowest": min(result.score_test_repeats, default=None),
        "score_test_highest": max(result.score_test_repeats, default=None),
        "gain_content": result.gain and result.gain.content,
        "gain_form": result.gain and result.gain.form,
        "self_reported": " ".join(result.self_reported),
        "judge_version": result.judge.version if result.judge else None,
        "judge_digest": result.judge.digest if result.judge else None,
        "python": result.runtime.python if result.runtime else None,
        "label": job.label,
    }


def _by_status(result: JobResult) -> tuple[int, ...] | None:
    """Return how a job's evaluations came out; None for a result that was written before this was told."""
    counts = result.evaluations_by_status
    if not counts and result.used.evaluations:
        return None
    return tuple(counts.get(status, 0) for status in EVALUATIONS)


def _isolation(result: JobResult) -> str:
    return str(result.versions.get("isolation", ""))


def _model(models: Mapping[Role, ModelIdentity]) -> ModelIdentity | None:
    """Return the model of the role `optimizer`, else of the first role that has one."""
    return models.get("optimizer") or next(iter(models.values()), None)


def _label(name: str | None, kwargs: Mapping[str, Any]) -> str:
    if name is None:
        return _compact(kwargs) if kwargs else ""
    return f"{name} {_compact(kwargs)}" if kwargs else name


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
