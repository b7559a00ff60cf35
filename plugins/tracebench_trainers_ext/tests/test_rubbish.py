"""The real libraries against a model that answers rubbish: no job fails, no cap is passed, and the initial candidate is kept at least."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, is_here, needs, run, said

from tracebench_core.specs import JobResult
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]
TOYS = Path(__file__).with_name("toys.py")
ON_CODE = (
    "gepa-optimize", "gepa-anything", "DSPy-COPRO", "DSPy-MIPROv2", "DSPy-GEPA", "TextGrad", "AdalFlow",
    "OpenEvolve", "SkyDiscover-AdaEvolve", "SkyDiscover-BestOfN", "ShinkaEvolve",
)  # fmt: skip
ON_WORDS = ("DSPy-SIMBA", "TextGrad", "gepa-optimize")
RUBBISH = (
    "", "{", "I would rather not.", "```python\ndef transform(x:\n```", "\x00" * 40, "```\n```", "[[ ## completed ## ]]",
    "<IMPROVED_VARIABLE>", '{"new_instruction": null, "values": [1]}', "<CODE>\n```python\nimport os\n", "\ud83d\ude00 " * 2000,
    "[[ ## module_advice ## ]]\n[1, 2]\n\n[[ ## proposed_instruction ## ]]\n",
)  # fmt: skip
BUDGET = {"evaluations": 24, "llm_calls": len(RUBBISH)}


def run_all(folder: Path, trainers: tuple[str, ...], task: str) -> tuple[dict[str, JobResult], Path]:
    replies = cycle(RUBBISH)
    with pytest.MonkeyPatch.context() as patch, FakeOpenAI(reply=lambda _: next(replies)) as server:
        patch.setenv("FAKE_KEY", KEY)
        here = [t for t in trainers if is_here(t)]
        return run(folder, server, here, tasks=[task], budget=BUDGET, max_workers=2)


@pytest.fixture(scope="module")
def on_code(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_all(tmp_path_factory.mktemp("code"), ON_CODE, "internal:code_param")


@pytest.fixture(scope="module")
def on_words(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_all(tmp_path_factory.mktemp("words"), ON_WORDS, f"{TOYS}:words")


def check(ran: tuple[dict[str, JobResult], Path], trainer: str) -> None:
    result = ran[0][trainer]
    assert result.status == "ok", (result.error, said(ran[1], result.job_id)[-3000:])
    assert result.used.evaluations <= BUDGET["evaluations"]
    assert result.used.llm_calls <= BUDGET["llm_calls"]
    assert result.score_val_initial is not None
    assert result.score_val_best is not None
    assert result.score_val_best >= result.score_val_initial


@pytest.mark.parametrize("trainer", [pytest.param(t, marks=needs(t)) for t in ON_CODE])
def test_a_library_survives_rubbish_for_code(on_code: Any, trainer: str) -> None:
    check(on_code, trainer)


@pytest.mark.parametrize("trainer", [pytest.param(t, marks=needs(t)) for t in ON_WORDS])
def test_a_library_survives_rubbish_for_words(on_words: Any, trainer: str) -> None:
    check(on_words, trainer)
