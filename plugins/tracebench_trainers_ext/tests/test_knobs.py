"""Every library's own settings: one acts, a misspelt one and one that the bench holds are refused before anything is spent."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, improve, needs, run, said

from tracebench_core.specs import JobResult
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.launch import ADAPTERS

sys.path.insert(0, str(ADAPTERS))
from tracebench_adapters import knobs

BUDGET = {"evaluations": 24, "llm_calls": 30}


@dataclass
class Part:
    low: int = 1
    deep: Part | None = None


@dataclass
class Config:
    seed: int = 0
    part: Part = field(default_factory=Part)


def example(*, breadth: int = 5, depth: int = 3, seed: int = 0) -> tuple[int, int, int]:
    return breadth, depth, seed


def test_what_is_given_lies_over_what_is_passed() -> None:
    assert knobs.call(example, {"breadth": 2, "seed": 7}, {"breadth": 9, "depth": 1}, held=("seed",)) == (9, 1, 7)
    assert knobs.lay(Config(), {"part": {"low": 4, "deep": {"low": 5}}}) == Config(0, Part(4, Part(5)))


@pytest.mark.parametrize(
    ("given", "held", "told"),
    [
        ({"bredth": 1}, (), "Did you mean `breadth`"),
        ({"seed": 1}, ("seed",), "bench's own"),
    ],
)
def test_a_name_of_none_and_a_name_of_the_bench_are_refused(given: Any, held: Any, told: str) -> None:
    with pytest.raises(knobs.WrongKnob, match=told):
        knobs.call(example, {}, given, held=held)


@pytest.mark.parametrize(
    ("given", "told"),
    [({"part": {"dep": 1}}, "`deep`"), ({"part": {"low": 1}}, "bench's own"), ({"prt": {}}, "`part`")],
)
def test_nested_names_are_checked_where_they_stand(given: Any, told: str) -> None:
    with pytest.raises(knobs.WrongKnob, match=told):
        knobs.lay(Config(), given, held=("part.low",))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=improve) as server:
        yield server


WRONG = {
    "gepa-optimize": ({"frontier_typ": "instance"}, "frontier_type"),
    "gepa-anything": ({"engine": {"frontier_typ": "instance"}}, "frontier_type"),
    "DSPy-COPRO": ({"bredth": 3}, "breadth"),
    "DSPy-MIPROv2": ({"minibach": True}, "minibatch"),
    "DSPy-GEPA": ({"component_selecter": "all"}, "component_selector"),
    "TextGrad": ({"gradient_memry": 1}, "gradient_memory"),
    "AdalFlow": ({"max_stps": 3}, "max_steps"),
    "OpenEvolve": ({"database": {"migration_intervall": 3}}, "migration_interval"),
    "SkyDiscover-AdaEvolve": ({"search": {"database": {"num_iselands": 3}}}, "num_islands"),
    "Optuna": ({"n_startup_trial": 3}, "n_startup_trials"),
    "Nevergrad": ({"bugdet": 3}, None),
    "ShinkaEvolve": ({"patch_type": ["full"]}, "patch_types"),
}
HELD = {
    "gepa-optimize": {"max_metric_calls": 9},
    "gepa-anything": {"engine": {"seed": 9}},
    "DSPy-COPRO": {"metric": "x"},
    "DSPy-MIPROv2": {"seed": 3},
    "TextGrad": {"engine": "gpt-4o"},
    "AdalFlow": {"num_workers": 9},
    "OpenEvolve": {"llm": {"api_base": "http://elsewhere"}},
    "SkyDiscover-AdaEvolve": {"llm": {}},
    "Nevergrad": {"num_workers": 2},
    "ShinkaEvolve": {"language": "rust"},
}
RIGHT = {
    "gepa-optimize": {"merge_val_overlap_floor": 3, "reflection_prompt_template": "MARK <curr_param> <side_info>"},
    "gepa-anything": {
        "engine": {"frontier_type": "instance"},
        "merge": {"max_merge_invocations": 1},
        "reflection": {"reflection_prompt_template": "MARK <curr_param> <side_info>"},
    },
    "DSPy-COPRO": {"track_stats": True},
    "DSPy-MIPROv2": {"minibatch": True, "minibatch_size": 2, "minibatch_full_eval_steps": 1, "view_data_batch_size": 2},
    "DSPy-GEPA": {"component_selector": "all"},
    "TextGrad": {"momentum_window": 2},
    "AdalFlow": {"debug": False},
    "OpenEvolve": {
        "database": {"migration_interval": 2, "exploration_ratio": 0.5},
        "prompt": {"num_top_programs": 1},
        "llm": {"models": [{"name": "fake-model", "weight": 2.0, "temperature": 0.1}, {"name": "fake-model"}]},
    },
    "SkyDiscover-AdaEvolve": {"search": {"database": {"num_islands": 3}}},
    "ShinkaEvolve": {"max_patch_attempts": 1, "use_text_feedback": False, "database": {"archive_size": 5}},
}
foreign = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]


def one(
    tmp_path: Path, model: FakeOpenAI, trainer: str, params: dict[str, Any], **config: Any
) -> tuple[JobResult, str]:
    task = "internal:numeric_param" if trainer in {"Optuna", "Nevergrad"} else "internal:code_param"
    given = {"tasks": [task], "budget": BUDGET, **config}
    results, folder = run(tmp_path, model, [{"id": trainer, "params": params}], **given)
    (result,) = results.values()
    return result, said(folder, result.job_id)


@pytest.mark.parametrize("trainer", [pytest.param(t, marks=[*foreign, needs(t)]) for t in WRONG])
def test_a_misspelt_setting_costs_nothing_and_is_told_with_the_nearest(
    tmp_path: Path, model: FakeOpenAI, trainer: str
) -> None:
    given, nearest = WRONG[trainer]
    result, words = one(tmp_path, model, trainer, {"library": given})
    assert result.status == "failed", words[-3000:]
    assert result.error is not None
    assert result.error.type == "UsageError"
    assert nearest is None or f"`{nearest}`" in result.error.message
    assert result.used.evaluations == result.used.llm_calls == 0


@pytest.mark.parametrize("trainer", [pytest.param(t, marks=[*foreign, needs(t)]) for t in HELD])
def test_what_the_bench_holds_is_refused(tmp_path: Path, model: FakeOpenAI, trainer: str) -> None:
    result, words = one(tmp_path, model, trainer, {"library": HELD[trainer]})
    assert result.status == "failed", words[-3000:]
    assert result.error is not None
    assert "bench's own" in result.error.message
    assert result.used.evaluations == 0


@pytest.mark.parametrize("trainer", [pytest.param(t, marks=[*foreign, needs(t)]) for t in RIGHT])
def test_a_librarys_own_setting_is_taken(tmp_path: Path, model: FakeOpenAI, trainer: str) -> None:
    result, words = one(tmp_path, model, trainer, {"library": RIGHT[trainer]})
    assert result.status == "ok", (result.error, words[-3000:])
    if trainer in {"gepa-optimize", "gepa-anything"}:
        assert any("MARK" in str(request["messages"]) for request in model.log.requests)
    if trainer == "OpenEvolve":
        assert {request.get("temperature") for request in model.log.requests} >= {0.1}
    if trainer == "ShinkaEvolve":
        feedback = re.compile(r"returned -?\d+, expected")
        assert model.log.requests
        assert not any(feedback.search(str(request["messages"])) for request in model.log.requests)
        one(tmp_path / "told", model, trainer, {})
        assert any(feedback.search(str(request["messages"])) for request in model.log.requests)


@pytest.mark.heavy("trainers_ext")
@needs("Optuna")
@pytest.mark.parametrize(
    "params",
    [{"sampler": "qmc"}, {"sampler": "NSGAIISampler", "library": {"population_size": 4}}, {"pruner": "median"}],
)
def test_optunas_samplers_and_pruners(tmp_path: Path, model: FakeOpenAI, params: dict[str, Any]) -> None:
    result, words = one(tmp_path, model, "Optuna", params)
    assert result.status == "ok", words[-3000:]
    assert result.used.evaluations <= BUDGET["evaluations"]


@pytest.mark.heavy("trainers_ext")
@needs("Nevergrad")
@pytest.mark.parametrize(
    ("trainer", "params", "told"),
    [("Optuna", {"sampler": "tpee"}, "`TPE`"), ("Nevergrad", {"optimizer": "OnePlusOnee"}, "`OnePlusOne`")],
)
def test_an_unknown_sampler_or_optimizer_is_refused_before_anything_is_spent(
    tmp_path: Path, model: FakeOpenAI, trainer: str, params: dict[str, Any], told: str
) -> None:
    result, words = one(tmp_path, model, trainer, params)
    assert result.status == "failed", words[-3000:]
    assert result.error is not None
    assert told in result.error.message
    assert result.used.evaluations == 0


@pytest.mark.heavy("trainers_ext")
@pytest.mark.timeout(600)
@needs("DSPy-MIPROv2")
def test_demonstrations_of_mipro_stand_below_the_text_that_is_measured(tmp_path: Path, model: FakeOpenAI) -> None:
    params = {"num_trials": 6, "num_candidates": 3, "library": {"max_labeled_demos": 2, "max_bootstrapped_demos": 1}}
    results, folder = run(
        tmp_path,
        model,
        [{"id": "DSPy-MIPROv2", "params": params}],
        tasks=["hf:small/classification"],
        budget={"evaluations": 300, "llm_calls": 400},
    )
    (result,) = results.values()
    assert result.status == "ok", (result.error, said(folder, result.job_id)[-3000:])
    texts = [str(candidate["values"]) for candidate in candidates(folder, result.job_id)]
    assert any("Examples:" in text and "Answer:" in text for text in texts)


@pytest.mark.heavy("trainers_ext")
@pytest.mark.timeout(600)
@needs("DSPy-BootstrapFewShot")
def test_random_sets_of_demonstrations_are_tried_where_they_are_asked_for(tmp_path: Path, model: FakeOpenAI) -> None:
    tried = {}
    for sets in (0, 3):
        params = {"num_candidate_programs": sets, "max_labeled_demos": 2, "metric_threshold": 0.0}
        task = {"tasks": [f"{Path(__file__).with_name('toys.py')}:shots"], "budget": {"evaluations": 400}}
        results, folder = run(tmp_path / str(sets), model, [{"id": "DSPy-BootstrapFewShot", "params": params}], **task)
        (result,) = results.values()
        assert result.status == "ok", (result.error, said(folder, result.job_id)[-3000:])
        tried[sets] = len(candidates(folder, result.job_id))
    assert tried[3] > tried[0] >= 2
