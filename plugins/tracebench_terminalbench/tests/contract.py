"""What this plugin uses of Harbor, looked up in Harbor itself; run by Harbor's own Python, given the folder of `tracebench_harbor`.

It prints one line for everything that is not as expected, and nothing when all is.
"""

import inspect
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from harbor.agents.terminus_2.terminus_2 import Terminus2, Terminus2Options
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.agent.context import AgentContext
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig
from harbor.models.trial.result import TrialResult
from harbor.models.verifier.result import VerifierResult
from tracebench_harbor.agent import TemplateTerminus2
from tracebench_harbor.environment import LocalEnvironment

FIELDS = {
    JobConfig: "job_name jobs_dir n_attempts n_concurrent_trials quiet environment agents extra_instructions tasks datasets",
    AgentConfig: "name import_path model_name kwargs skills",
    EnvironmentConfig: "type import_path kwargs",
    TrialResult: "task_name trial_name agent_result verifier_result exception_info started_at finished_at",
    AgentContext: "n_input_tokens n_output_tokens metadata",
    VerifierResult: "rewards",
    ExecResult: "stdout stderr return_code",
    EnvironmentCapabilities: "disable_internet",
    Terminus2Options: "max_turns parser_name api_base temperature",
}
TOLD = ("Unknown Error in LLM interaction", "api_request_times_msec", "n_episodes")
"""Words of its log and of its results from which a model that is away is told."""
PLACEHOLDERS = ("{instruction}", "{terminal_state}")


def fields(model):
    return set(getattr(model, "model_fields", None) or inspect.signature(model).parameters)


def missing_fields():
    for model, names in FIELDS.items():
        yield from (f"{model.__name__} has no field `{name}`" for name in names.split() if name not in fields(model))


def broken_environment():
    for name in getattr(LocalEnvironment, "__abstractmethods__", ()):
        yield f"LocalEnvironment lacks `{name}`, which BaseEnvironment now demands"
    for name in ("start", "stop", "exec", "upload_file", "upload_dir", "download_file", "download_dir"):
        ours, theirs = (inspect.signature(getattr(c, name)) for c in (LocalEnvironment, BaseEnvironment))
        if unknown := [p for p in theirs.parameters if p not in ours.parameters]:
            yield f"BaseEnvironment.{name} now hands over {unknown}"


def broken_agent():
    for name in ("_get_prompt_template_path", "options_model"):
        if not hasattr(Terminus2, name):
            yield f"Terminus2 has no `{name}`"
    source = inspect.getsource(inspect.getmodule(Terminus2))
    yield from (f"Terminus2 no longer tells {words!r}" for words in TOLD if words not in source)
    if not issubclass(TemplateTerminus2.options_model, Terminus2Options):
        yield "TemplateTerminus2's options are none of Terminus2's"
    for parser in ("json", "xml"):
        template = Path(inspect.getfile(Terminus2)).parent / "templates" / f"terminus-{parser}-plain.txt"
        text = template.read_text(encoding="utf-8") if template.is_file() else ""
        yield from (f"{template.name} has no {name}" for name in PLACEHOLDERS if name not in text)


for line in (*missing_fields(), *broken_environment(), *broken_agent()):
    print(line)
