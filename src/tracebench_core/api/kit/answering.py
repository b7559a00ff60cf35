"""What stands in a model's place: turns of calls under way together, refusals by a cap, and failures as the gateway words them."""

from tracebench_core.llm import turns
from tracebench_core.llm.access import Phase, Refusal
from tracebench_core.llm.gateway.errors import STATUS, Failure, error_body

__all__ = ["STATUS", "Failure", "Phase", "Refusal", "error_body", "turns"]
