"""What litellm itself says that a model lacks: its `validate_environment`, asked in a process of its own, as importing it takes seconds.

It is a second witness beside `providers.json`: it knows nothing of addresses that have a default, of regions and of AWS's files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from tracebench_core.specs import LLMConfig, ModelConfig, ModelIdentity
from tracebench_gateway.credentials import KEY_VARIABLES
from tracebench_gateway.models import every_model, model_config, resolve_models
from tracebench_gateway.needs import NEEDS, Need, field_of, unmet
from tracebench_gateway.routing import direct_address

LONGEST_SECONDS = 90.0
"""litellm takes 2 s on an idle machine to be imported, and 30 s on one that is busy."""


def needs_by_litellm(llm: LLMConfig, *, environ: Mapping[str, str]) -> Iterator[tuple[ModelIdentity, Need]]:
    """Yield what litellm names as missing and our own list does not ask for; nothing where it is not installed or does not answer.

    What lacks a thing on our list is not asked about before it has it, and what has no needs there is not asked about at all, as
    litellm may begin to log in.
    """
    asked: dict[ModelIdentity, ModelConfig] = {}
    for role, name, identity in every_model(resolve_models(llm, mode="real", environ=environ)):
        config = model_config(llm, role, name)
        if NEEDS.get(identity.provider) and direct_address(identity) is None and not _lacks(config, identity, environ):
            asked.setdefault(identity, config)
    if not asked or find_spec("litellm") is None:
        return
    questions = [_question(identity, config, environ) for identity, config in asked.items()]
    for identity, missing in zip(asked, _ask(questions, environ), strict=False):
        for variable in missing:
            if not _is_ours(variable, identity, environ):
                yield identity, Need((variable,), field_of([variable]))


def _lacks(config: ModelConfig, identity: ModelIdentity, environ: Mapping[str, str]) -> bool:
    key = KEY_VARIABLES.get(identity.provider) if _has_key(config, environ) else None
    return any(need.variables[0] != key for need in unmet(config, identity, environ))


def _has_key(config: ModelConfig, environ: Mapping[str, str]) -> bool:
    return bool(config.api_key_env and environ.get(config.api_key_env))


def _question(identity: ModelIdentity, config: ModelConfig, environ: Mapping[str, str]) -> dict[str, Any]:
    return {
        "model": f"{identity.provider}/{identity.model}",
        "api_key": "is set" if _has_key(config, environ) else None,
        "api_base": identity.base_url,
        "api_version": config.api_version,
    }


def _is_ours(variable: str, identity: ModelIdentity, environ: Mapping[str, str]) -> bool:
    """Tell what our list asks for itself, or what belongs to credentials that are held in another way than litellm looks for."""
    needs = NEEDS[identity.provider]
    usual = needs[0][0]
    of_others = not environ.get(usual) and variable.partition("_")[0] == usual.partition("_")[0]
    return of_others or any(variable in variables for variables in needs)


def _ask(questions: list[dict[str, Any]], environ: Mapping[str, str]) -> list[list[str]]:
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and this module
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(questions).encode(),
            capture_output=True,
            env={**environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            timeout=LONGEST_SECONDS,
            check=True,
        )
        answers: list[list[str]] = json.loads(done.stdout.rpartition(b"\n")[2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    return answers


def main() -> None:
    """Answer the questions on the input, in its order, in one line at the end of the output: litellm may print before it."""
    from litellm import validate_environment  # noqa: PLC0415 - of this process alone

    questions = json.load(sys.stdin)
    answers = [validate_environment(**question)["missing_keys"] for question in questions]
    sys.stdout.write("\n" + json.dumps(answers))


if __name__ == "__main__":
    main()
