"""Every trainer passes the checks of the conformance kit, but for what is waived here, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import needs
from plugins.tracebench_trainers_ext.tests.worded import Foreign, Wording

from tracebench_core.contracts import Trainer
from tracebench_core.plugins import load_ref
from tracebench_testing import TRAINER_CHECKS
from tracebench_trainers_ext.specs import TRAINER_SPECS

pytestmark = [pytest.mark.heavy("trainers_ext_kit"), pytest.mark.timeout(900)]
WORDINGS: Mapping[str, Wording] = {
    "gepa-optimize": "",
    "gepa-anything": "",
    "DSPy-COPRO": "each",
    "DSPy-MIPROv2": "each",
    "DSPy-SIMBA": "each",
    "DSPy-GEPA": "each",
    "TextGrad": "each",
    "AdalFlow": "each",
    "OpenEvolve": "",
    "SkyDiscover-AdaEvolve": "",
    "SkyDiscover-BestOfN": "",
    "ShinkaEvolve": "one",
    "Optuna": "",
    "Nevergrad": "",
}
"""How the toys' numbers are shown to each. No toy takes the worked examples of `DSPy-BootstrapFewShot`; an `Agent` is what one makes it."""
STEP_DOWN = "the code toy's second stage scores lower on most minibatches, and a minibatch that does not improve ends a proposal"
WHOLE_FIRST = (
    "it measures the initial candidate on all of validation first, and 200 evaluations do not pay for 500 examples"
)
NOT_REPEATABLE = "it puts ids of its own drawing and times into prompts, or draws without a seed"
STEP_BY_STEP = {"TB204": STEP_DOWN, "TB211": WHOLE_FIRST}
ON_TRAIN = "it takes no validation set and measures on train; the engine measures the finalists on validation"
TRAIN_FIRST = "it measures each candidate, the initial one first, on all of train, and 200 evaluations do not pay for 500 examples"
NUMERIC = {
    "TB204": "it searches numbers and choices, and a program holds none",
    "TB209": ON_TRAIN,
    "TB211": TRAIN_FIRST,
}
CHOSEN_LAST = "it measures on train, and what it chose on validation at its end, before which 300 evaluations are spent"
MIPRO = {
    "TB208": "it asks for all its instructions before it tries the first, and the model is gone by then",
    "TB211": WHOLE_FIRST,
}
ALL_ALIKE = "it draws rules from scores of a batch that differ, and one number, or one example, scores the same in every rollout"
SIMBA = {
    "TB203": ALL_ALIKE,
    "TB204": "it appends rules to instructions, and a program is none",
    "TB209": CHOSEN_LAST,
    "TB210": ALL_ALIKE,
    "TB211": ALL_ALIKE,
}
EVOLUTION = {"TB205": NOT_REPEATABLE, "TB211": TRAIN_FIRST, "TB213": NOT_REPEATABLE}
IN_PROCESSES = "its proposals and evaluations overlap, in processes of its own"
WAIVED: Mapping[str, Mapping[str, str]] = {
    "gepa-optimize": STEP_BY_STEP,
    "gepa-anything": STEP_BY_STEP,
    "DSPy-COPRO": {"TB209": CHOSEN_LAST},
    "DSPy-GEPA": STEP_BY_STEP,
    "DSPy-MIPROv2": MIPRO,
    "DSPy-SIMBA": SIMBA,
    "TextGrad": {"TB211": WHOLE_FIRST},
    "AdalFlow": STEP_BY_STEP,
    "OpenEvolve": {**EVOLUTION, "TB212": IN_PROCESSES},
    "SkyDiscover-AdaEvolve": EVOLUTION,
    "SkyDiscover-BestOfN": EVOLUTION,
    "ShinkaEvolve": {**EVOLUTION, "TB212": IN_PROCESSES},
    "Optuna": NUMERIC,
    "Nevergrad": NUMERIC,
}
"""By trainer and code: what the library cannot do, and why."""


@pytest.mark.parametrize("code", TRAINER_CHECKS)
@pytest.mark.parametrize("trainer", [pytest.param(name, marks=needs(name)) for name in WORDINGS])
def test_trainer_conforms(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: str, code: str
) -> None:
    monkeypatch.chdir(tmp_path)  # where a library's process has its folder
    reason = WAIVED.get(trainer, {}).get(code)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
    spec = next(s for s in TRAINER_SPECS if s.name == trainer)

    def build() -> Trainer:
        assert spec.settings is not None
        built: Trainer = load_ref(spec.loader, owner=spec.name)(load_ref(spec.settings, owner=spec.name)())
        return built

    assert TRAINER_CHECKS[code](Foreign(build, wording=WORDINGS[trainer])) == []
