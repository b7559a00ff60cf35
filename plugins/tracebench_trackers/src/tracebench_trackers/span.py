"""One model call as a span, by the semantic conventions for generative models (OpenTelemetry semantic-conventions, gen-ai)."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tracebench_core.specs import JobSpec
from tracebench_core.specs.events import LLMCall

NS = 1_000_000_000


def span_of(job: JobSpec, call: LLMCall, ended: int) -> ReadableSpan:
    """Return the span of a call that ended at `ended`, in nanoseconds since 1970. What is not known is left out."""
    identity = job.models.get(call.role)
    attributes: dict[str, str | int | float | bool] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": identity.provider if identity is not None else "unknown",
        "gen_ai.request.model": call.model,
        "tracebench.job": job.job_id,
        "tracebench.task": job.task_id,
        "tracebench.trainer": job.trainer_id,
        "tracebench.role": call.role,
        "tracebench.phase": call.phase,
        "tracebench.status": call.status,
        "tracebench.retries": call.retries,
        "tracebench.tokens_estimated": call.estimated,
    }
    if call.status == "ok":
        attributes |= {
            "gen_ai.usage.input_tokens": call.prompt_tokens,
            "gen_ai.usage.output_tokens": call.completion_tokens,
        }
        if call.usd is not None:
            attributes["tracebench.usd"] = call.usd
    else:
        attributes["error.type"] = (call.error or call.status).partition(":")[0].strip()
    return ReadableSpan(
        name=f"chat {call.model}",
        context=_context(job, call, ended),
        kind=SpanKind.CLIENT,
        resource=Resource.create({"service.name": "trace-bench", "service.version": version("tracebench-core")}),
        instrumentation_scope=InstrumentationScope("tracebench-trackers", version("tracebench-trackers")),
        attributes=attributes,
        start_time=ended - int(call.seconds * NS),
        end_time=ended,
        status=Status(StatusCode.UNSET) if call.status == "ok" else Status(StatusCode.ERROR, call.error or None),
    )


def _context(job: JobSpec, call: LLMCall, ended: int) -> SpanContext:
    trace = hashlib.sha256(f"{job.job_id} {job.task_id}".encode()).digest()
    span = hashlib.sha256(f"{job.job_id} {call.call} {ended}".encode()).digest()
    return SpanContext(
        int.from_bytes(trace[:16], "big"), int.from_bytes(span[:8], "big"), is_remote=False, trace_flags=TraceFlags(1)
    )
