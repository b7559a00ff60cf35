"""What stands in a model's place: turns of calls under way together, refusals by a cap, and failures as the gateway words them."""

from tracebench_engine.measure.models import NoModels as NoModels
from tracebench_gateway import turns as turns
from tracebench_gateway.access import Phase as Phase, Refusal as Refusal
from tracebench_gateway.server.errors import STATUS as STATUS, Failure as Failure, error_body as error_body
