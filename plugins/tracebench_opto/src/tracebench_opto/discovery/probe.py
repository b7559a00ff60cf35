"""Try one class out on two toy tasks with a rule for a model; run as `python -m`, for a class may hang, exit or call for help.

Arguments: a `FoundClass` as JSON, and the file to which the verdict is written.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tracebench_core.specs import Budget, Requirement
from tracebench_opto.discovery import lifeline
from tracebench_opto.discovery.records import FoundClass, Verdict, in_words
from tracebench_opto.discovery.trainer import DiscoveredTrainer
from tracebench_opto.discovery.vocabulary import SYNONYMS, TAMED, aliases_of, settings_of
from tracebench_opto.proposers import builders
from tracebench_opto.proposers.specs import optimizer_specs
from tracebench_testing import Trial, run_trial
from tracebench_testing.toys import build_dials

BUDGET = Budget(evaluations=400, llm_calls=60)
SMALL = {"num_steps": 2, "batch_size": 2, "validation_size": 2, "num_candidates": 2, "test_frequency": 1}


def probe(found: FoundClass) -> Verdict:
    """Return how the class does with its own defaults, else with those that need no other models."""
    known = settings_of(found.constructor, found.train)
    small = _small(known)
    tamed = {k: v for k, v in TAMED.items() if k in known}
    verdict = _verdict(found, small)
    if verdict.status == "ok" or not tamed:
        return verdict
    second = _verdict(found, {**small, **tamed})
    if second.status != "ok":
        return verdict
    return Verdict(status="ok", reason=f"only with {json.dumps(tamed)}; as it is: {verdict.reason}", settings=tamed)


def _verdict(found: FoundClass, settings: Mapping[str, Any]) -> Verdict:
    for parameters in (1, 2):
        toy = build_dials(parameters=parameters, train=4, validation=4)
        trial = run_trial(
            DiscoveredTrainer(found, settings, to_the_cap=False),
            toy,
            answer=_answer,
            budget=BUDGET,
            optimizer=_newest_optimizer(),
        )
        verdict = _judge(trial, parameters)
        if verdict.status != "ok":
            return verdict
    return Verdict(status="ok")


def _judge(trial: Trial, parameters: int) -> Verdict:
    error = trial.error
    if error is None:
        if not any(e.candidate != "c0" for e in trial.evaluations):
            return Verdict(status="broken", reason=f"evaluates no candidate of its own (with {parameters} parameters)")
        return Verdict(status="ok")
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("opto"):
        need = Requirement(kind="module", name=error.name, hint=f"pip install {error.name}")
        return Verdict(status="needs", reason=f"the module {error.name}", requires=(need,))
    if type(error).__name__ == "ExecutableNotFound":
        need = Requirement(kind="command", name="dot", hint="apt-get install graphviz")
        return Verdict(status="needs", reason="the command dot", requires=(need,))
    return Verdict(status="broken", reason=in_words(error))


def _small(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that keep the trial short, in the class's own words."""
    own = {**{name: name for name in known}, **aliases_of(known)}
    return {own[word]: size for word, size in SMALL.items() if word in own and word in SYNONYMS}


def _newest_optimizer() -> Any:
    offered = {spec.name for spec in optimizer_specs()}
    return builders.optoprime_v2 if "OptoPrimeV2" in offered else builders.optoprime


def _answer(prompt: str, call: int) -> str:
    """Move every number that the prompt shows as a variable by a quarter, in the format that the prompt asks for."""
    tagged = re.findall(r'<(?:variable|solution) name="(\w+)" type="float">\s*<value>\s*([-\d.e]+)', prompt)
    if tagged:
        moved = (
            f"<variable><name>{n}</name><value>{float(v) + 0.25}</value></variable>" for n, v in dict(tagged).items()
        )
        return f"<reasoning>call {call}</reasoning>{''.join(moved)}"
    shown = prompt.rpartition("#Variables\n")[2]
    plain = re.findall(r"^\(float\) (\w+)=([-\d.e]+)$", shown.partition("#Inputs")[0], re.MULTILINE)
    return json.dumps({"reasoning": f"call {call}", "suggestion": {n: float(v) + 0.25 for n, v in plain}})


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ConnectionRefusedError("a trial has no network")


def main(argv: list[str]) -> None:
    """Probe, and write the verdict."""
    lifeline.hold()
    socket.socket.connect = _refuse  # type: ignore[method-assign]  # whatever the class calls for must not cost minutes
    found = FoundClass.model_validate_json(argv[1])
    Path(argv[2]).write_text(probe(found).model_dump_json(), encoding="utf-8")
    os._exit(0)  # a class under trial may have left threads that never end


if __name__ == "__main__":
    main(sys.argv)
