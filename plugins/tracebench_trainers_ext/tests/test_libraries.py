"""The real libraries, each against a scripted model: caps, lineage, feedback, and the engine's own scores."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, improve, is_here, needs, run, said

from tracebench_core.plugins import load_ref
from tracebench_core.specs import JobResult
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.plugin import tracebench_stub_formats

pytestmark = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]
ASKING = (
    "gepa-optimize",
    "gepa-anything",
    "DSPy-COPRO",
    "DSPy-MIPROv2",
    "DSPy-GEPA",
    "TextGrad",
    "AdalFlow",
    "OpenEvolve",
    "SkyDiscover-AdaEvolve",
    "SkyDiscover-BestOfN",
    "ShinkaEvolve",
)
"""Trainers that ask a model and serve a task of one piece of code."""
DEAF_TO_WORDS = {"DSPy-COPRO", "DSPy-MIPROv2"}
"""They read scores alone, by their own design."""
EVALUATIONS = 24
CALLS = 2
MARK = "a value of its own"


class Ran(NamedTuple):
    """One run of all trainers, and what its server saw."""

    results: dict[str, JobResult]
    folder: Path
    requests: list[dict[str, Any]]
    served: int


def run_all(folder: Path, **config: Any) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_KEY", KEY)
        with FakeOpenAI(reply=improve) as server:
            results, run_dir = run(folder, server, [t for t in ASKING if is_here(t)], max_workers=2, **config)
            return Ran(results, run_dir, list(server.log.requests), len(server.log.served))


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    return run_all(tmp_path_factory.mktemp("evaluations"), budget={"evaluations": EVALUATIONS, "llm_calls": 60})


@pytest.fixture(scope="module")
def starved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    return run_all(tmp_path_factory.mktemp("calls"), budget={"evaluations": 400, "llm_calls": CALLS})


each = pytest.mark.parametrize("trainer", [pytest.param(t, marks=needs(t)) for t in ASKING])


@each
def test_evaluations_never_pass_the_cap_and_the_best_is_kept(capped: Ran, trainer: str) -> None:
    result = capped.results[trainer]
    words = said(capped.folder, result.job_id)
    assert result.status == "ok", (result.error, words[-3000:])
    assert result.used.evaluations <= EVALUATIONS
    assert result.score_val_best is not None
    assert result.score_val_initial is not None
    assert result.score_val_best >= result.score_val_initial
    assert result.score_val_best > result.score_val_initial or trainer in DEAF_TO_WORDS, words[-3000:]


@each
def test_children_have_parents_and_an_origin_where_the_library_tells(capped: Ran, trainer: str) -> None:
    found = candidates(capped.folder, capped.results[trainer].job_id)[1:]
    assert found
    assert all(c["origin"] for c in found)
    if trainer not in {*DEAF_TO_WORDS, "ShinkaEvolve"}:  # whose evaluations are processes that are told of no parent
        assert all(c["parents"] for c in found)


@each
def test_the_guides_words_reach_the_proposer(capped: Ran, trainer: str) -> None:
    if trainer in DEAF_TO_WORDS:
        pytest.skip("reads scores alone")
    found = candidates(capped.folder, capped.results[trainer].job_id)
    assert len(found) > 1
    texts = [str(request["messages"]) for request in capped.requests]
    assert any("transform(" in text and "expected" in text.lower() for text in texts)


def test_scripts_understand_whatever_a_library_asks(capped: Ran) -> None:
    formats = [load_ref(spec.loader, owner="ext") for spec in tracebench_stub_formats()]
    replaced = 0
    for request in capped.requests:
        said = (
            known(request["messages"], random.Random(0), lambda shown, _=None, /: dict.fromkeys(shown, MARK))
            for known in formats
        )
        answer = next((text for text in said if text is not None), None)
        assert answer is not None or "ideas" in str(request["messages"]), request
        replaced += MARK in (answer or "")
    assert replaced > len(capped.requests) / 2, replaced


@each
def test_calls_never_pass_the_cap_and_a_spent_budget_ends_the_job(starved: Ran, trainer: str) -> None:
    result = starved.results[trainer]
    assert result.status == "ok", result.error
    assert result.used.llm_calls <= CALLS
    assert result.stop_reason in {"budget:llm_calls", "completed"}


def test_the_ledger_equals_the_servers_own_log(starved: Ran, capped: Ran) -> None:
    for ran in (starved, capped):
        usages = [r.usage["optimizer"] for r in ran.results.values() if "optimizer" in r.usage]
        assert sum(usage.llm_calls for usage in usages) == ran.served


@needs("Nevergrad")
def test_nevergrad_models_a_single_number_on_any_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    trainer = {"id": "Nevergrad", "params": {"n_trials": 60}}  # its default goes by a meta-model at every thirteenth
    with FakeOpenAI(reply=improve) as server:
        results, folder = run(tmp_path, server, [trainer], tasks=["internal:numeric_param"])
    result = results["Nevergrad"]
    assert result.status == "ok", said(folder, result.job_id)[-3000:]
    assert result.score_val_best is not None
    assert result.score_val_initial is not None
    assert result.score_val_best > result.score_val_initial
    assert len(candidates(folder, result.job_id)) > 30


@needs("gepa-anything")
def test_gepa_says_which_of_several_parameters_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=improve) as server:
        budget = {"evaluations": 60, "llm_calls": 8}
        run(tmp_path, server, ["gepa-anything"], tasks=["internal:multi_param"], budget=budget)
        prompts = [str(request["messages"]) for request in server.log.requests]
    named = [{*re.findall(r"the parameter `(\w+)` of kind", prompt)} for prompt in prompts]
    assert named
    assert all(len(one) == 1 for one in named), prompts[:2]
    assert len(set.union(*named)) > 1
