"""The server's HTTP door: the paths and fields that clients of KernelBench's evaluation servers know."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tracebench_kernelbench.server.jobs import Job, Jobs, QueueFullError
from tracebench_kernelbench.server.orders import BUILD_SECONDS, Submission

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST_BYTES = 4 << 20
_RECENT = 10
_POLL = 0.05
_SECONDS = 300.0
"""That a job may take where its request says nothing: upstream's default."""
Handler = Callable[[Request], Awaitable[Response]]


class Door:
    """The handlers over one queue."""

    def __init__(self, jobs: Jobs, *, token: str | None, build_seconds: float = BUILD_SECONDS) -> None:
        self._jobs, self._token, self._build_seconds = jobs, token, build_seconds

    def app(self) -> Starlette:
        """Return the application."""
        routes: list[tuple[str, str, Handler]] = [
            ("/", "GET", self._hello),
            ("/status", "GET", self._status),
            ("/evaluate", "POST", self._evaluate),
            ("/evaluate_sync", "POST", self._evaluate_sync),
            ("/job/{id}", "GET", self._job),
            ("/job/{id}/cancel", "POST", self._cancel),
            ("/jobs", "GET", self._list),
        ]
        return Starlette(
            routes=[Route(path, self._guarded(handler), methods=[method]) for path, method, handler in routes]
        )

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if self._token is not None:
                given = request.headers.get("authorization", "").removeprefix("Bearer ")
                if not secrets.compare_digest(given.encode(), self._token.encode()):
                    return _refuse(401, "the token is missing or wrong")
            elif request.url.hostname not in LOOPBACK:  # a web page that has its name resolve to this machine
                return _refuse(403, "without a token, this server is asked by its loopback address")
            return await handler(request)

        return guarded

    async def _hello(self, _request: Request) -> Response:
        return JSONResponse({"message": "KernelBench evaluation server of Trace-Bench"})

    async def _status(self, _request: Request) -> Response:
        devices = {device: "busy" if job else "idle" for device, job in self._jobs.running.items()}
        free = [device for device, state in devices.items() if state == "idle"]
        queue = {**self._jobs.counts(), "available_devices": len(free)}
        return JSONResponse({"server_status": "running", "device_status": devices, "queue_info": queue})

    async def _evaluate(self, request: Request) -> Response:
        job = await self._queue(request)
        return job if isinstance(job, Response) else JSONResponse({"job_id": job.id, "status": "queued"})

    async def _evaluate_sync(self, request: Request) -> Response:
        job = await self._queue(request)
        if isinstance(job, Response):
            return job
        began = asyncio.get_running_loop().time()
        while job.completed_at is None:
            if asyncio.get_running_loop().time() - began > job.timeout:
                return _refuse(408, f"no result within {job.timeout:g} s; ask for job {job.id}")
            await asyncio.sleep(_POLL)
        return JSONResponse(_shown(job) | {"execution_time": asyncio.get_running_loop().time() - began})

    async def _job(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["id"])
        return _refuse(404, "there is no such job") if job is None else JSONResponse(_shown(job))

    async def _cancel(self, request: Request) -> Response:
        job = self._jobs.cancel(request.path_params["id"])
        return _refuse(404, "there is no such job") if job is None else JSONResponse(_shown(job))

    async def _list(self, _request: Request) -> Response:
        running = [job for job in self._jobs.running.values() if job is not None]
        return JSONResponse(
            {
                "active_jobs": [_shown(job) for job in running],
                "completed_jobs": [_shown(job) for job in self._jobs.finished(_RECENT)],
            }
        )

    async def _queue(self, request: Request) -> Job | Response:
        if not request.headers.get("content-type", "").startswith("application/json"):
            return _refuse(400, "the body must be application/json")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _refuse(413, f"the body is larger than {_MOST_BYTES >> 20} MiB")
        try:
            asked = Submission.model_validate_json(bytes(body))
            job = Job(asked.order(build_seconds=self._build_seconds).model_dump(), asked.timeout or _SECONDS)
        except ValidationError as err:
            return _refuse(422, "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in err.errors()))
        except ValueError as err:
            return _refuse(422, str(err))
        try:
            self._jobs.submit(job)
        except QueueFullError:
            return _refuse(503, "the queue is full")
        return job


def _shown(job: Job) -> dict[str, Any]:
    shown: dict[str, Any] = {"job_id": job.id, "status": job.status, "device": job.device}
    for name in ("queued_at", "started_at", "completed_at"):
        at = getattr(job, name)
        shown[name] = None if at is None else datetime.fromtimestamp(at, UTC).isoformat()
    if job.error is not None:
        shown["error"] = job.error
    if job.verdict is not None:
        shown["result"] = _result(job.verdict)
    return shown


def _result(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return KernelBench's fields; times are in milliseconds, -1 where there is none."""
    metrics = verdict["metrics"]
    stats = {
        name: metrics[name] for name in ("candidate_ms", "reference_ms", "noise", "speedup_raw") if name in metrics
    }
    return {
        "compiled": verdict["compiled"],
        "correctness": verdict["correct"],
        "metadata": {"text": verdict["text"], "verdict": verdict},
        "runtime": metrics.get("candidate_ms", -1.0),
        "runtime_stats": stats,
        "ref_runtime": metrics.get("reference_ms", -1.0),
    }


def _refuse(status: int, detail: str) -> JSONResponse:
    return JSONResponse({"detail": detail}, status_code=status)
