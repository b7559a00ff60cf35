"""`JobAccess`: all that a job process needs to ask models, as plain data."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tracebench_core.specs import Axis, ModelIdentity, Role
from tracebench_core.specs.base import Spec

Phase = Literal["training", "scoring"]
"""`training` is capped by the job's budget; `scoring` is the engine's own final measurement, and has a cap of its own."""
PHASES: tuple[Phase, ...] = ("training", "scoring")
LEDGER_HEADER = "x-tracebench-ledger"
"""`<engine's key> <number>`: asks that an answer to a model call tells how the job stands and what was filed after that call, too."""


Scope = Literal["job", "run", "scoring"]


class Refusal(NamedTuple):
    """The cap that turned a call away, and whose it is."""

    axis: Axis
    scope: Scope


class JobAccess(Spec):
    """The gateway as one job sees it. The keys are the job's own: none of them is a provider's."""

    job_id: str
    base_url: str
    """Ends in `/v1`."""
    keys: dict[Role, dict[Phase, str]]
    engine_key: str
    """Opens the job's account, and asks no model. The engine keeps it: with it, a clock can be started and training ended."""
    models: dict[Role, ModelIdentity]
    timeout: float
    """Seconds after which a call that has not been answered is given up: the gateway's own limits are shorter."""

    def for_training(self) -> JobAccess:
        """Return what a process that trains is given: without the keys of scoring."""
        return self.model_copy(
            update={"keys": {role: {"training": keys["training"]} for role, keys in self.keys.items()}}
        )

    @property
    def scoring_keys(self) -> dict[Role, str]:
        """The keys that `for_training` leaves out."""
        return {role: keys["scoring"] for role, keys in self.keys.items()}
