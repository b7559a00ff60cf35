"""The gateway on its own: its routes, accounts and files, as they die at any write, at any question to a provider and at any answer.

A schedule is two jobs that train and are scored, by callers who ask again under the same key as the bench's own client does, while the
gateway dies, a provider's answer is garbage, requests come twice and a scoring is cut short and begun again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.simulation.disk import Killed
from tests.simulation.schedule import Report

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.access import Phase
from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError, Reply, Tokens
from tracebench_gateway.server import assembly
from tracebench_gateway.server.app import Routes
from tracebench_gateway.server.connections import ConnectionGuard
from tracebench_gateway.server.metering.ledger import read_ledger
from tracebench_gateway.server.service import Service
from tracebench_gateway.server.settings import GatewaySettings
from tracebench_gateway.tokens import Claims, sign
from tracebench_gateway.turns import HEADER, KEY_HEADER

SECRET = "5e" * 32
ADMIN = "runner"
JOBS = ("one", "two")
SECTION = 3
CHOICES = 4
TRAINING = 3 + SECTION + 2 + CHOICES
"""Calls of a job's training."""
SCORING = 3
MODES = ("stub", "real", "recorded")
MOST_DEATHS = 5
DEATHS = ("before", "after", "torn")
SERVED = re.compile(rb"answer (\d+) ")
WRITE = os.write


class Provider:
    """Serves each call once, and counts: its log is what is paid."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.served: list[int] = []
        self.rubbish = 0

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Answer."""
        world = self.world
        world.step("asks")
        await asyncio.sleep(0)
        if not world.has_cap and world.strikes("garbage", 0.05):
            self.rubbish += 1
            raise ProviderError("garbage", kind="malformed", reported=Tokens(3, 2), served="garbage")
        number = len(self.served)
        self.served.append(number)
        world.step("is answered")
        return Reply({"role": "assistant", "content": f"answer {number} to it"}, "stop", reported=Tokens(3, 2))


class World:
    """One schedule."""

    def __init__(self, scratch: Path, seed: int, *, deaths: int, mode: str) -> None:
        self.random = Random(f"gateway {seed}")
        self.report = Report(seed)
        self.mode = mode
        self.has_cap = self.random.random() < 0.5
        """Its calls are just paid for, and no answer of a provider is garbage."""
        self.root = scratch / "gateway"
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.provider = Provider(self)
        self.kept: set[int] = set()
        """Numbers of answers that were written down whole."""
        self.answers: dict[str, str] = {}
        self.deaths, self.faults = deaths, deaths
        self.is_dead = False
        self._dies_at, self._death, self._steps = 0, "", 0
        self._burial = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._service: Service | None = None
        self._app: Any = None

    def strikes(self, what: str, chance: float) -> bool:
        """Say whether a fault happens now."""
        if self.faults <= 0 or self.random.random() >= chance:
            return False
        self.report.met[f"gateway: {what}"] += 1
        return True

    # the gateway's process

    def step(self, what: str, *, whole: Any = None, torn: Any = None) -> None:
        """Do something at which the gateway may die."""
        if self.is_dead:
            raise Killed
        self._steps += 1
        if self._steps != self._dies_at:
            if whole is not None:
                whole()
            return
        self.is_dead = True
        self.report.met[f"gateway: dies, {self._death}: {what}"] += 1
        if self._death == "after" and whole is not None:
            whole()
        elif self._death == "torn" and torn is not None:
            torn()
        raise Killed

    def write(self, fd: int, data: bytes) -> int:
        """Stand for `os.write`."""
        if fd <= 2:
            return WRITE(fd, data)

        def whole() -> None:
            WRITE(fd, data)
            self.kept.update(int(number) for number in SERVED.findall(data))

        self.step("writes", whole=whole, torn=lambda: WRITE(fd, data[: self.random.randrange(len(data))]))
        return len(data)

    def begin(self) -> None:
        """Start the gateway; it may die at its start."""
        self.is_dead, self._steps = False, 0
        self._dies_at = 0
        if self.deaths > 0:
            self.deaths -= 1
            self._dies_at, self._death = self.random.randrange(1, 120), self.random.choice(DEATHS)
        is_real = self.mode != "stub"
        model = {"provider": "openai", "model": "m"} if is_real else {}
        settings = GatewaySettings(
            llm=LLMConfig(**model, record=self.mode == "recorded", max_retries=0),
            mode="real" if is_real else "stub",
            run_dir=self.root,
            run_budget=Budget(),
            replay_from=None,
            prices={},
            seed=0,
            token_secret=SECRET,
            admin_token=ADMIN,
            environ={},
            started=0.0,
            socket_fd=0,
        )
        with patch.object(assembly, "RealProvider", lambda *_, **__: self.provider):
            self._service = assembly.build_service(settings)
        self._app = Routes(self._service, ConnectionGuard()).app()

    async def bury(self) -> None:
        """End what was under way in a gateway that died, and start the next."""
        async with self._burial:
            while self.is_dead:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
                self._close()
                with suppress(Killed):
                    self.begin()

    def _close(self) -> None:
        if self._service is None:
            return
        self._service.ledger.close()
        for part in (self._service._recorder, self._service._scorings):
            if part is not None and part._fd >= 0:
                os.close(part._fd)
        self._service = None

    async def request(self, method: str, path: str, token: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Ask the gateway, and again while it dies.

        Raises:
            AssertionError: after far more deaths than there are.
        """
        for _ in range(100):
            await self.bury()
            asked = _Asked(method, path, token, body, headers)
            task = asyncio.ensure_future(self._serve(asked))
            self._tasks.add(task)
            await asyncio.wait([task])
            self._tasks.discard(task)
            if not task.cancelled() and not isinstance(error := task.exception(), Killed):
                if error is not None:
                    raise error
                return asked.status, json.loads(b"".join(asked.said))
        raise AssertionError("the gateway never stays")

    async def _serve(self, asked: _Asked) -> None:
        content = b"" if asked.body is None else json.dumps(asked.body).encode()
        named = {"authorization": f"Bearer {asked.token}", "content-length": str(len(content)), **asked.headers}
        path, _, query = asked.path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": asked.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
            "client": ("127.0.0.1", id(asked)),
            "server": ("127.0.0.1", 1),
            "scheme": "http",
            "root_path": "",
        }
        given = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if given:
                return given.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                asked.status = message["status"]
            else:
                self.step("sends", whole=lambda: asked.said.append(message.get("body", b"")))

        await self._app(scope, receive, send)

    # what happens

    def token(self, job: str, phase: Phase, *, is_engine: bool = False) -> str:
        """Return a key of a job."""
        provider = "stub" if self.mode == "stub" else "openai"
        identity = ModelIdentity(provider=provider, model="stub" if self.mode == "stub" else "m")
        budget = Budget(llm_calls=TRAINING if self.has_cap else None)
        claims = Claims(
            job_id=job, attempt="a", role="agent", phase=phase, seed=JOBS.index(job), budget=budget, model=identity, is_engine=is_engine
        )  # fmt: skip
        return sign(claims, secret=bytes.fromhex(SECRET))

    async def ask(
        self, job: str, name: str, text: str, *, phase: Phase = "training", place: str = "", choices: int = 1
    ) -> None:
        """Make one call for each choice as the bench's client does, and note the answers; sometimes the request comes twice."""
        key = f"{job}-{name}-{self.random.getrandbits(32):x}"
        headers = {KEY_HEADER: key, **({HEADER: place} if place else {})}
        model = "stub" if self.mode == "stub" else "m"
        body = {"model": model, "messages": [{"role": "user", "content": text}], "n": choices}
        for _ in range(2 if self.strikes("is told twice", 0.1) else 1):
            status, answer = await self.request("POST", "/v1/chat/completions", self.token(job, phase), body, **headers)
            for i in range(choices):
                said = answer["choices"][i]["message"]["content"] if status == 200 else f"{status}"
                before = self.answers.setdefault(f"{job} {name} {i}", said)
                if before != said and "502" not in {before, said}:
                    self.report.wrong.append(f"{job} {name} was answered `{before}`, and then `{said}`")

    async def live(self, job: str) -> None:
        """Go through a job."""
        engine = self.token(job, "scoring", is_engine=True)
        for n in range(3):
            await self.ask(job, f"again {n}", "a b c d e f g h")
        section = [self.ask(job, f"task {n}", "a b c d e f g h", place=f"1.{n}") for n in range(SECTION)]
        await asyncio.gather(*section)
        for n in range(2):
            await self.ask(job, f"other {n}", f"i j k l m n {n}")
        await self.ask(job, "choices", "a b c d e f g h", choices=CHOICES)
        await self.request("POST", "/ledger/end?after=0", engine, {})
        if self.strikes("scoring is cut short", 0.4):
            for n in range(self.random.randrange(1, SCORING)):
                await self.ask(job, f"scores {n}", "o p q r s t u v", phase="scoring")
            await self.request("POST", "/ledger/anew?after=0", engine, {})
        for n in range(SCORING):
            await self.ask(job, f"scores {n}", "o p q r s t u v", phase="scoring")
        _, standing = await self.request("GET", "/ledger/records?after=0", engine)
        self.report.wrong += self._of_job(job, standing)
        await self.request("POST", f"/admin/jobs/{job}/a/release", ADMIN)

    async def run(self) -> None:
        """Go through the schedule."""
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        self.is_dead = True
        with patch.object(os, "write", self.write):
            await asyncio.gather(*(self.live(job) for job in JOBS))
            _, run = await self.request("GET", "/admin/run", ADMIN)
        self._close()
        self.report.wrong += self._broken(run)

    # the laws

    def _of_job(self, job: str, standing: Any) -> Iterator[str]:
        """What was asked is filed once, and nothing else; the caps count that."""
        used = standing["used"]["llm_calls"]
        if not self.provider.rubbish and used != TRAINING:
            yield f"{job} asked {TRAINING} times, and used {used} calls"
        if not self.provider.rubbish and standing["refusal"]:
            yield f"{job} was refused: {standing['refusal']}"

    def _broken(self, run: Any) -> Iterator[str]:
        lines = [line for line in read_ledger(self.root / "llm/ledger.jsonl") if line["kind"] == "llm_call"]
        paid = [line for line in lines if not line.get("reused")]
        filed = Counter(line["status"] for line in paid)
        provider = self.provider
        if self.mode != "stub" and filed["ok"] != len(self.kept):
            yield f"the provider served {len(provider.served)}, {len(self.kept)} came through, and the ledger has {filed['ok']}"
        if run["used"]["llm_calls"] != len(paid):
            yield f"the run used {run['used']['llm_calls']} calls, and the ledger has {len(paid)}"
        if run["held"]["calls"]:
            yield f"{run['held']} is still set aside"
        if self.mode != "stub":
            said = Counter(answer for answer in self.answers.values() if answer != "502")
            yield from (f"`{answer}` was given {n} times" for answer, n in said.items() if n > 1)
        if not provider.rubbish:
            yield from (f"{name}: {answer}" for name, answer in self.answers.items() if answer.isdigit())
        if left := [*(self.root / "llm/undelivered").glob("*")]:
            yield f"left behind: {left}"


@dataclass(eq=False)
class _Asked:
    """A request and what is answered."""

    method: str
    path: str
    token: str
    body: Any
    headers: dict[str, str]
    status: int = 0
    said: list[bytes] = field(default_factory=list)


class GatewayBench:
    """What the schedules of a process have in common: what a stub answers whom nobody disturbs."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        calm = World(scratch, 0, deaths=0, mode="stub")
        asyncio.run(calm.run())
        if calm.report.wrong:
            raise AssertionError(f"the undisturbed jobs: {calm.report.wrong}")
        self.expected = calm.answers

    def try_one(self, seed: int) -> Report:
        """Go through one schedule."""
        random = Random(seed)
        world = World(self.scratch, seed, deaths=random.randrange(1, MOST_DEATHS + 1), mode=random.choice(MODES))
        asyncio.run(world.run())
        if world.mode == "stub" and world.answers != self.expected:
            differ = {name: answer for name, answer in world.answers.items() if answer != self.expected[name]}
            world.report.wrong.append(f"answered otherwise: {differ}")
        return world.report
