"""What holds when a run that exists is run again: who continues it is kept, caps above what is spent, and types of error that there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run
from tests.unit.store.samples import job_spec

from tracebench_core.errors import RunDirError, UsageError
from tracebench_core.specs import Budget
from tracebench_engine.config import parse_config
from tracebench_engine.run.continuing import _further_seeds, record_resume, refuse_unknown_error, with_run_budget
from tracebench_runs.reading.reader import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of four jobs of ten evaluations each, two of which failed."""
    errors = {0: "ValueError", 1: "KeyError"}

    def ended(_trainer: str, _task: str, seed: int) -> dict[str, Any]:
        lost = {"status": "failed", "error": {"type": errors.get(seed, ""), "message": "no"}}
        return lost if seed in errors else {"error": {"type": "Passed", "message": "told"}}

    return make_run(
        tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=range(4), ended=ended, usd=0.25
    )


@pytest.mark.parametrize(
    ("cap", "words", "hint"),
    [
        ({"evaluations": 39}, "40 evaluations already, and the new cap is 39", "give a cap above 40"),
        ({"evaluations": 40}, "40 evaluations already, and the new cap is 40", "give a cap above 40"),
        ({"evaluations": 41}, "", ""),
        ({"usd": 1.0}, "1 usd already, and the new cap is 1", "give a cap above 1"),
        ({"usd": 1.5, "evaluations": 100}, "", ""), ({"seconds": 1e-6}, "", ""), ({"tokens": 1}, "", ""), ({}, "", ""),
    ],
)  # fmt: skip
def test_a_run_gets_a_cap_that_it_has_not_spent(run: Run, cap: dict[str, Any], words: str, hint: str) -> None:
    config = parse_config({"run_budget": {"llm_calls": 7, "evaluations": 5}})
    if words:
        with pytest.raises(UsageError) as caught:
            with_run_budget(config, Budget(**cap), layout=run.layout)
        assert (str(caught.value), caught.value.hint) == (f"Run `r` has spent {words}.", hint)
        return
    changed = with_run_budget(config, Budget(**cap), layout=run.layout)
    assert changed.run_budget.caps() == {"llm_calls": 7, "evaluations": 5, **cap}
    assert config.run_budget.caps() == {"llm_calls": 7, "evaluations": 5}


def test_an_unknown_price_counts_as_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=[1, 2], usd=None)
    assert with_run_budget(parse_config({}), Budget(usd=0.01), layout=run.layout).run_budget.usd == 0.01


def test_a_type_of_error_with_which_no_job_failed_is_refused_with_those_that_there_are(
    run: Run, tmp_path: Path
) -> None:
    for known in ("ValueError", "KeyError"):
        refuse_unknown_error(run.layout, known)
    for unknown, near in (("ValuError", " Did you mean `ValueError`?"), ("Passed", "")):
        with pytest.raises(UsageError) as caught:
            refuse_unknown_error(run.layout, unknown)
        assert str(caught.value) == f"No job of run `r` failed with `{unknown}`.{near}"
        assert caught.value.hint == "there are: KeyError, ValueError"
    sound = make_run(tmp_path / "s", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=[1])
    with pytest.raises(UsageError) as none:
        refuse_unknown_error(sound.layout, "ValueError")
    assert none.value.hint == "there are: no failures"


def test_who_continued_a_run_and_how_is_kept(run: Run) -> None:
    record_resume(run.layout, failed=False, error_type=None, run_budget=None)
    record_resume(run.layout, failed=True, error_type="KeyError", run_budget=Budget(usd=2.0))
    one, two = (json.loads(line) for line in run.layout.control.read_text().splitlines())
    assert (one["action"], two["action"]) == ("resume", "resume")
    assert not {"failed", "error_type", "run_budget"} & {*one}
    assert (two["failed"], two["error_type"], two["run_budget"]) == (True, "KeyError", {"usd": 2.0})
    assert one["by"] == two["by"]


class Stored(list[Any]):
    """Jobs of a run, as they are planned."""

    def ids(self) -> list[str]:
        return [job.job_id for job in self]

    def chosen(self, which: Any) -> list[Any]:
        return [job for job in self if which(job.job_id)]


def job(trainer: str, seed: int) -> Any:
    return job_spec(job_id=f"{ord(trainer):06x}{seed:06x}", trainer_id=trainer, seed=seed)


def further(stored: Sequence[Any], planned: Sequence[Any], seeds: int) -> list[str]:
    plan: Any = SimpleNamespace(jobs=planned, config=SimpleNamespace(seeds=range(seeds)))
    return [f"{each.trainer_id}{each.seed}" for each in _further_seeds(plan, Stored(stored))]  # type: ignore[arg-type]


def test_further_seeds_are_of_what_the_run_has_and_of_nothing_that_a_limit_left_out() -> None:
    planned = [job(trainer, seed) for trainer in "ABC" for seed in (1, 2, 3)]
    assert further([job("A", 1), job("B", 1)], planned, 3) == ["A2", "A3", "B2", "B3"]
    assert further([job("A", 1), job("A", 2), job("B", 1)], planned, 3) == ["A3", "B3"]
    assert further(planned, planned, 3) == []


def test_a_config_without_a_job_of_the_run_does_not_say_what_further_seeds_are_of() -> None:
    with pytest.raises(RunDirError) as caught:
        further([job("A", 1), job("Z", 5)], [job("A", 1), job("A", 2)], 2)
    assert str(caught.value) == (
        "1 of 2 jobs of the run are not in this config, such as `Z` on `suite:task` with seed 5: "
        "it does not say what the further seeds are of."
    )
    assert caught.value.hint == (
        "name all of its tasks, trainers and seeds, and the further seeds; or add anything with --extend"
    )
