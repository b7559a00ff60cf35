"""What stands in a model's place: turns of calls under way together, refusals by a cap, and failures as the gateway words them."""

from tracebench_gateway import turns
from tracebench_gateway.access import Phase, Refusal
from tracebench_gateway.server.errors import STATUS, Failure, error_body

__all__ = ["STATUS", "Failure", "Phase", "Refusal", "error_body", "turns"]
