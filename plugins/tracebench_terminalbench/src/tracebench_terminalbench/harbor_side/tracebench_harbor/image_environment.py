"""A Harbor environment of a task's own image without a container engine: unpacked once, run copy-on-write as root of a user namespace.

The image is prepared, and the sandbox held, by Trace-Bench's own Python (`tracebench_terminalbench.oci`); commands enter by `relay.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harbor.environments.base import ExecResult
from harbor.environments.capabilities import EnvironmentResourceCapabilities

from .environment import MOST_FETCHED, LocalEnvironment, LocalSandboxError, child_of, result_of
from .namespaces import PATH, die_with_parent
from .users import MOST, User, find_user

RELAY = Path(__file__).with_name("relay.py")
COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
SLIRP = "slirp4netns"
FULL = "disk-full.txt"
"""In a trial's folder: that the sandbox had no room for what Harbor brings, as its tests."""
_NO_ROOM = "No space left on device"
_FULL = "Resource temporarily unavailable", "can't fork", "Cannot fork"


class ImageError(LocalSandboxError):
    """The task's image cannot be had or cannot be run here; nothing of it says anything of a candidate."""


class ImageEnvironment(LocalEnvironment):
    """One sandbox of one trial.

    Args:
        python: the interpreter that has Trace-Bench.
        store: the folder of unpacked images.
        images: places of images by name: a folder in OCI's layout, a file of `docker save`, or skopeo's own name of a place.
        registry: `host:port` that is asked in place of each image's own registry.
        image_mb: megabytes that an image may unpack to.
        processes: processes and threads of a sandbox.
        network: `task`: as the task says, by slirp4netns; `none`: neither builds nor sandboxes have one.
    """

    def __init__(
        self,
        *args: Any,
        python: str,
        store: str,
        images: Mapping[str, str] | None = None,
        registry: str | None = None,
        image_mb: int = 20_000,
        processes: int = 1024,
        network: str = "task",
        **kwargs: Any,
    ) -> None:
        self._python = python
        self._asked = {"store": store, "images": images or {}, "registry": registry, "image_mb": image_mb}
        self._processes, self._wanted = processes, network
        self._user = User(0, 0, "/root")
        self._slirp: asyncio.subprocess.Process | None = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Name this environment."""
        return "tracebench-oci"

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Offer a limit of memory."""
        return EnvironmentResourceCapabilities(memory_limit=True)

    @classmethod
    def preflight(cls, kwargs: object = None) -> None:
        """Accept: what lacks is told by the trial that needs it."""

    async def start(self, force_build: bool) -> None:  # noqa: FBT001 - Harbor's signature
        """Prepare the image and build the sandbox."""
        if any((self.environment_dir / name).exists() for name in COMPOSE):
            raise ImageError("a task with docker-compose needs `harbor_env: docker`; `oci` runs a single container")
        prepared = await self._prepared(force_build)
        if prepared["notes"]:
            self.logger.warning(prepared["notes"])
        config = prepared["config"]
        online = self._wanted == "task" and not self._network_disabled
        asked = {
            "rootfs": prepared["root"], "below": prepared["below"], "processes": self._processes, "memory_mb": self._effective_memory_mb,
            "size": f"{self._effective_storage_mb}m" if self._effective_storage_mb else self._size,
        }  # fmt: skip
        argv = [self._python, "-m", "tracebench_terminalbench.oci.holder", json.dumps(asked)]
        try:
            self._pid = child_of(child_of(await self._hold(argv, {"PATH": os.environ.get("PATH", PATH)})))
            if online:
                await self._connect()
            self._image_env = dict(pair.partition("=")[::2] for pair in config.get("Env") or ())
            self._workdir = self.task_env_config.workdir or config.get("WorkingDir") or "/"
            await self._begin()
            await self._checked(f"mkdir -p {shlex.quote(self._workdir)}", cwd="/")
            self._user = await self._found(config.get("User") or 0)
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    async def stop(self, delete: bool) -> None:  # noqa: FBT001 - Harbor's signature
        """Kill the sandbox and its network."""
        if self._slirp is not None:
            with contextlib.suppress(ProcessLookupError):
                self._slirp.kill()
            await self._slirp.wait()
            self._slirp = None
        await super().stop(delete)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a shell command inside, by bash where the image has it, as the user that is asked for, else the image's own."""
        asked = self._resolve_user(user)
        who = self._user if asked is None else await self._found(asked)
        script = 'cd "$0" || exit 125; if command -v bash >/dev/null; then exec bash -c "$1"; else exec sh -c "$1"; fi'
        argv = [*self._with_variables(env, home=who.home), "sh", "-c", script, cwd or self._workdir, command]
        result = await result_of(self._run(self._enter(who, argv), timeout=timeout_sec), timeout_sec)
        if result.return_code and any(words in (result.stderr or "") for words in _FULL):
            result.stderr = (
                f"{result.stderr}\n(the sandbox may have {self._processes} processes, and all of them are in use)"
            )
            self.logger.warning(result.stderr)
        return result

    def _enter(self, who: User, argv: list[str]) -> list[str]:
        """Return the command that runs what follows it inside, in the limits and the control group of the sandbox."""
        if self._pid is None or self._holder is None or self._holder.returncode is not None:
            raise LocalSandboxError("the sandbox is not running")
        return [*self._relay(), "run", f"{who.number}:{who.group}", *argv]

    def _relay(self) -> list[str]:
        return [sys.executable, "-I", str(RELAY), str(self._pid)]

    async def _prepared(self, force_build: bool) -> dict[str, Any]:  # noqa: FBT001 - Harbor's own word
        image = None if force_build else self.task_env_config.docker_image
        if image is None and not (self.environment_dir / "Dockerfile").is_file():
            raise ImageError("the task has neither a `docker_image` nor a Dockerfile")
        network = self._wanted == "task"
        place = {"environment": str(self.environment_dir), "image": image}
        asked = {**self._asked, **place, "network": network, "brought": self._brought}
        process = await asyncio.create_subprocess_exec(
            self._python, "-m", "tracebench_terminalbench.oci.prepare", json.dumps(asked),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            preexec_fn=die_with_parent, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = await process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        if process.returncode:
            raise ImageError(f"the image could not be prepared: {err.decode(errors='replace')[-1500:]}")
        answer: dict[str, Any] = json.loads(out.splitlines()[-1])
        if "problem" in answer:
            raise ImageError(answer["problem"])
        return answer

    async def _connect(self) -> None:
        """Give the sandbox a network of its own that leads out, and not to the host's own services."""
        ready, told = os.pipe()
        argv = [
            SLIRP,
            "--configure",
            "--mtu=65520",
            "--disable-host-loopback",
            f"--ready-fd={told}",
            str(self._pid),
            "tap0",
        ]
        try:
            self._slirp = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
                preexec_fn=die_with_parent, start_new_session=True, pass_fds=(told,),
            )  # fmt: skip
        except FileNotFoundError as err:
            raise ImageError(
                f"the task wants the network, and {SLIRP} is not here (Debian: apt-get install {SLIRP}; "
                "or `harbor_environment_kwargs: {network: none}`, for a task that does without)"
            ) from err
        finally:
            os.close(told)
        loop = asyncio.get_running_loop()
        answered = await loop.run_in_executor(None, os.read, ready, 1)
        os.close(ready)
        if not answered:
            said = await self._slirp.stderr.read() if self._slirp.stderr else b""
            raise ImageError(f"the sandbox has no network: {said.decode(errors='replace').strip()[-600:]}")

    async def _found(self, user: str | int) -> User:
        if str(user) in {"0", "root", "0:0"}:
            return User(0, 0, "/root")
        _, accounts, _ = await self._run(self._enter(User(0, 0, "/"), ["cat", "/etc/passwd"]))
        found = find_user(str(user), accounts.decode(errors="replace"))
        if found is None:
            raise ImageError(f"the image has no user `{user}`")
        if max(found.number, found.group) > MOST:
            raise ImageError(f"the task runs as `{user}`, and a sandbox has users and groups up to {MOST}")
        if self._pid and _has_one_user(self._pid) and found.number:
            raise ImageError(f"the task runs as `{user}`, and without root's rights a sandbox has one user, root")
        return found

    async def _untar(self, blob: bytes, target: str) -> None:
        code, _, err = await self._run([*self._relay(), "in", target], stdin=blob)
        if code != 0:
            said = err.decode(errors="replace").strip()[-600:]
            if _NO_ROOM in said:  # Harbor tells of it without a reason
                (self.trial_paths.trial_dir / FULL).write_text(said, encoding="utf-8")
            raise LocalSandboxError(f"nothing could be copied to {target}: {said}")

    async def _tar(self, folder: str, name: str) -> bytes:
        argv = [*self._relay(), "out", folder, name]
        code, out, err = await self._run(argv, most=MOST_FETCHED)
        if code != 0:
            raise FileNotFoundError(
                f"{folder}/{name} could not be copied: {err.decode(errors='replace').strip()[-600:]}"
            )
        return out


def _has_one_user(pid: int) -> bool:
    return Path(f"/proc/{pid}/uid_map").read_text(encoding="ascii").split()[2] == "1"
