"""The plugin `otel`: a span per model call, by OpenTelemetry's conventions for generative models, sent over OTLP/HTTP.

A run asks for it by naming a collector:

    plugins: {options: {otel: {endpoint: "http://127.0.0.1:4318/v1/traces"}}}

A span has names, counts and times; what was asked and answered is not in it. All calls of a job are in one trace.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import JobSpec
from tracebench_trackers.courier import Courier

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from tracebench_core.specs.events import Event, LLMCall

OPTION = "endpoint"
TIMEOUT = 5.0
PATIENCE = 10.0
log = logging.getLogger(__name__)


class Spans:
    """The plugin's hooks. Without an endpoint it has nothing to do."""

    def __init__(self) -> None:
        self._endpoint = ""
        self._courier: Courier[tuple[JobSpec, LLMCall, int]] | None = None
        self._exporter: SpanExporter | None = None

    @hookimpl
    def tracebench_configure(self, settings: Mapping[str, Any]) -> bool:
        """Take the collector's address from the config; False without one.

        Raises:
            UsageError: when the options say anything else.
            MissingRequirementError: when OpenTelemetry is not installed.
        """
        options = dict(settings["options"])
        endpoint = options.pop(OPTION, None)
        if options or not (endpoint is None or (isinstance(endpoint, str) and endpoint.startswith("http"))):
            raise UsageError(
                f"`plugins.options.otel` takes `{OPTION}`, the address of a collector, and nothing else.",
                hint="-o 'plugins.options={otel: {endpoint: http://127.0.0.1:4318/v1/traces}}'",
            )
        if endpoint:
            from importlib.util import find_spec  # noqa: PLC0415 - not needed to list what is installed

            if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
                raise MissingRequirementError(
                    "Spans need OpenTelemetry, and it is not installed.", hint='pip install "tracebench-trackers[otel]"'
                )
        self._endpoint = endpoint or ""
        return bool(endpoint)

    @hookimpl
    def tracebench_event(self, job: JobSpec, event: Event) -> None:
        """Make a span of a model call; wait for what is to be sent when a process of the job ends."""
        from tracebench_core.specs.events import JobFinished, LLMCall, TrainingEnded  # noqa: PLC0415 - listings go without

        if isinstance(event, LLMCall):
            if self._courier is None:
                self._courier = Courier("otel", self._deliver)
            self._courier.send((job, event, time.time_ns()))
        elif isinstance(event, TrainingEnded | JobFinished) and self._courier is not None:
            self._courier.close(PATIENCE)
            self._courier = None

    def _deliver(self, item: tuple[JobSpec, LLMCall, int]) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415

        from tracebench_trackers.span import span_of  # noqa: PLC0415

        if self._exporter is None:
            self._exporter = OTLPSpanExporter(endpoint=self._endpoint, timeout=TIMEOUT)
        if self._exporter.export([span_of(*item)]) is not SpanExportResult.SUCCESS:
            raise ConnectionError(f"`{self._endpoint}` takes no spans")


PLUGIN = Spans()
