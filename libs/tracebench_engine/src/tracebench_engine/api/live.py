"""One short call of each role's model, with the fields that a run sends: what was refused or left out, its time and its cost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Budget, RunConfig
from tracebench_engine.matrix.plan import make_plan
from tracebench_engine.matrix.providers import refuse_unknown, settle_providers
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.gateway_process import start_gateway
from tracebench_gateway.models import key_variable, model_config, names_of, resolve_models
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.metering.ledger import read_ledger
from tracebench_gateway.variants import llm_configs
from tracebench_sandbox.forkserver import launch

PROMPT = [{"role": "user", "content": "Say ok."}]


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one call."""

    role: str
    model: str
    ok: bool
    words: str
    """What was answered, or why nothing was."""
    seconds: float
    usd: float | None
    """None where nobody told the price."""
    left_out: tuple[str, ...]
    """Fields that the model does not take."""
    address: str | None
    """Where it was asked; None where the provider's own address is."""
    hint: str = ""
    """What mends it, where it failed in a way that is known."""
    is_used: bool = True
    """Whether a trainer or task of the config asks it, as far as they declare it."""


def ask_live(config: RunConfig, host: PluginHost) -> Iterator[Asked]:
    """Ask the model of every role once, in each of the config's variants; costs what these calls cost.

    Raises:
        ConfigError: for a provider that nobody knows.
    """
    config = settle_providers(config, host)
    refuse_unknown(config, host)
    used = _used(config, host)
    for variant, llm in llm_configs(config).items():
        models = resolve_models(llm, mode=config.mode, environ=os.environ, replay_from=config.replay_from)
        once = llm.model_copy(update={"max_retries": 0, "cache": "off", "record": False})
        with (
            tempfile.TemporaryDirectory() as folder,
            start_gateway(once, mode=config.mode, run_dir=Path(folder), run_budget=Budget(), launch=launch) as gateway,
        ):
            for role in models:
                client = GatewayClient(gateway.register(role, budget=Budget(), seed=0, models=models))
                words, ok = "", True
                try:
                    words = client.complete(PROMPT, role=role)[0].text
                except (ModelError, BudgetExhausted) as error:
                    words, ok = str(error), False
                client.close()
                lines = read_ledger(Path(folder) / "llm/ledger.jsonl")
                line = next((line for line in lines if line["job_id"] == role and line["kind"] == "llm_call"), {})
                name, identity = next(iter(names_of(models[role]).items()))
                told = f"{variant}: {name}" if variant else name
                left_out = tuple(line.get("left_out", ()))
                address = direct_address(identity) or identity.base_url
                hint = (
                    ""
                    if ok
                    else mend(line.get("error", ""), address, key_variable(model_config(llm, role, name), identity))
                )
                yield Asked(
                    role,
                    told,
                    ok,
                    words,
                    line.get("seconds", 0.0),
                    line.get("usd"),
                    left_out,
                    address,
                    hint,
                    role in used,
                )


def _used(config: RunConfig, host: PluginHost) -> set[str]:
    """Return the roles that the config's trainers and tasks ask: the optimizer is a trainer's, agent and judge are a task's or guide's."""
    plan = make_plan(config, host, environ=os.environ)
    used: set[str] = set()
    if any(trainer.uses_model for trainer in plan.trainers.values()):
        used.add("optimizer")
    if any(plan.tasks[job.task_id].asks_model(job.eval_kwargs) for job in plan.jobs) or any(
        job.guide is not None for job in plan.jobs
    ):
        used |= {"agent", "judge"}
    return used


def mend(error: str, address: str | None, key: str | None) -> str:
    """Return what to look at first when a call failed, by the ledger's words; empty where these say all there is.

    Args:
        key: the variable that the provider's key is read from, or None where none is sent.
    """
    kind, _, words = error.partition(": ")
    listing = f"curl -sS {address}/models" if address else ""
    if kind == "auth" and "not installed" not in words:
        return _of_key(key)
    if kind == "refused" and address:
        return f"is the server there? {listing}   (else mend `base_url`)"
    if not address or not any(sign in words for sign in ("404", "NotFoundError")):
        return ""
    if not address.endswith("/v1"):
        return f"`base_url` is asked as it stands; OpenAI's API mostly stands at `/v1`: {listing}"
    return f"{listing}   lists the models that this server has"


def _of_key(key: str | None) -> str:
    if key is None:
        return "no key is sent: `api_key_env: VARIABLE` beside `model` names one"
    if not os.environ.get(key):
        return f"`{key}` is not set in this shell: export {key}=…"
    return f"`{key}` is set, and is refused; for another key, or a whole one of this address: export {key}=…"
