"""A Harbor environment without Docker: namespaces and a throw-away file system, for tasks that need no image.

It contains what an agent does on toy tasks and keeps the host's files out of reach. It is no boundary against hostile code, and limits of
CPU and memory are not enforced.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shlex
import shutil
import signal
import sys
import tarfile
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

from .dockerfile import NotUnderstoodError, read_dockerfile, variables
from .namespaces import PATH, die_with_parent, enter_argv, holder_argv, why_impossible

DOOR = Path(__file__).with_name("door.py")
START_SECONDS = 30.0
MOST_SAID, MOST_FETCHED = 16 << 20, 256 << 20
"""Bytes that are kept of what a command prints, and that may be fetched at a time: a sparse file of terabytes costs its owner nothing."""
LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")


class LocalSandboxError(RuntimeError):
    """The sandbox cannot be built, or a step of its Dockerfile failed."""


class LocalEnvironment(BaseEnvironment):
    """One sandbox of one trial. It has no network at all."""

    def __init__(
        self,
        *args: Any,
        tmpfs_size: str = "1g",
        door: str | None = None,
        brought: Sequence[str] = (),
        programs: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep what is asked.

        Args:
            tmpfs_size: what may be written, as mount(8) takes it.
            door: `127.0.0.1:PORT` of the host, which the sandbox's own loopback leads to.
            brought: files and folders of the host that an installed agent needs; they are in the sandbox where they are here.
            programs: those of them that are commands inside, by a name that the image has none of.
        """
        self._size = tmpfs_size
        self._brought, self._programs = brought, programs or {}
        self._address = door
        self._door: asyncio.subprocess.Process | None = None
        self._said: asyncio.Task[None] | None = None
        self._lost: list[str] = []
        self._holder: asyncio.subprocess.Process | None = None
        self._pid: int | None = None
        self._mount_point: Path | None = None
        self._image_env: dict[str, str] = {}
        self._workdir = "/"
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Name this environment."""
        return "tracebench-local"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Offer tasks without internet, and nothing else."""
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def preflight(cls, kwargs: object = None) -> None:  # noqa: ARG003 - Harbor passes it from 0.26 on
        """End the job with one sentence where no sandbox can be built."""
        if reason := why_impossible():
            raise SystemExit(f"`harbor_env: local` cannot run here: {reason}")

    def _validate_definition(self) -> None:
        """Accept: what is raised here aborts the whole job, what `start` raises fails only the trial."""

    async def start(self, force_build: bool) -> None:  # noqa: FBT001 - Harbor's signature
        """Build the sandbox and follow the task's Dockerfile in it."""
        steps = read_dockerfile(self.environment_dir)
        self._mount_point = self.trial_paths.trial_dir.resolve() / f".sandbox-{self.session_id.rsplit('__', 1)[-1]}"
        self._mount_point.mkdir(parents=True, exist_ok=True)
        try:
            argv = holder_argv(self._mount_point, size=self._size, brought=self._brought)
            self._pid = child_of(await self._hold(argv, {"PATH": PATH}))
            await self._begin()
            for step in steps:
                await self._follow(step.word, step.rest)
            if self.task_env_config.workdir:
                self._workdir = self.task_env_config.workdir
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    def lost_models(self) -> list[str]:
        """Return what was told of answers through the door that failed or never came, since it was asked last."""
        found, self._lost = self._lost, []
        return found

    async def stop(self, delete: bool) -> None:  # noqa: FBT001 - Harbor's signature
        """Kill the holder, and with it every process and mount of the sandbox."""
        if self._door is not None:
            with contextlib.suppress(ProcessLookupError):
                self._door.kill()
            await self._door.wait()
            self._door = None
        if self._holder is not None:
            if self._holder.returncode is None:
                self._holder.kill()
            await self._holder.wait()
            self._holder = self._pid = None
        if self._mount_point is not None:
            shutil.rmtree(self._mount_point, ignore_errors=True)
            self._mount_point = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a shell command inside; the sandbox has one user, root of its own."""
        argv = [*self._with_variables(env, home="/root"), "bash", "-c", command]
        return await result_of(self._inside(argv, cwd=cwd or self._workdir, timeout=timeout_sec), timeout_sec)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the sandbox."""
        target = PurePosixPath(target_path)
        await self._untar(_packed(Path(source_path), target.name), str(target.parent))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the contents of a folder into a folder of the sandbox."""
        await self._untar(_packed(Path(source_dir), "."), target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a regular file out of the sandbox; a symlink is not followed."""
        source, target = PurePosixPath(source_path), Path(target_path)
        with tarfile.open(fileobj=io.BytesIO(await self._tar(str(source.parent), source.name))) as archive:
            member = archive.extractfile(source.name)
            if member is None:
                raise FileNotFoundError(f"{source_path} is not a regular file")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(member.read())

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder's regular files out of the sandbox."""
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(await self._tar(source_dir, "."))) as archive:
            members = [member for member in archive.getmembers() if member.isreg() or member.isdir()]
            archive.extractall(target_dir, members=members, filter="data")

    def _with_variables(self, env: dict[str, str] | None, *, home: str) -> list[str]:
        """Return the words that run what follows them with a command's variables: the image's, and those that are asked for."""
        fixed = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8"}
        variables = {**fixed, **self._image_env, **(self._merge_env(env) or {})}
        return ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]

    async def _hold(self, argv: Sequence[str], environ: Mapping[str, str]) -> int:
        """Start the process that the sandbox lives with, and return its number once the sandbox is built."""
        self._holder = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=dict(environ), preexec_fn=die_with_parent, start_new_session=True,
        )  # fmt: skip
        await asyncio.wait_for(self._until_ready(self._holder), START_SECONDS)
        return self._holder.pid

    async def _begin(self) -> None:
        """Make the folders that Harbor fetches when the trial ends."""
        folders = shlex.join(self._mount_targets() or LOGS)
        await self._checked(f"mkdir -p {folders} && chmod 777 {folders}", cwd="/")
        for name, program in self._programs.items():
            link = shlex.join(["ln", "-s", program, f"/usr/local/bin/{name}"])
            await self._checked(f"command -v {name} || {{ mkdir -p /usr/local/bin && {link}; }}", cwd="/")
        if self._address is not None:
            await self._open_door(self._address)

    async def _open_door(self, address: str) -> None:
        self._door = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(DOOR), str(self._pid), address,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={"PATH": PATH}, preexec_fn=die_with_parent, start_new_session=True,
        )  # fmt: skip
        await asyncio.wait_for(self._until_ready(self._door), START_SECONDS)
        self._said = asyncio.create_task(self._hear(self._door.stdout))

    async def _hear(self, door: asyncio.StreamReader | None) -> None:
        while door is not None and (line := await door.readline()):
            self._lost.append(line.decode(errors="replace").strip())

    async def _until_ready(self, holder: asyncio.subprocess.Process) -> None:
        if holder.stdout is None or holder.stderr is None:
            raise LocalSandboxError("the holder has no pipes")
        if (await holder.stdout.readline()).strip() != b"READY":
            words = (await holder.stderr.read()).decode(errors="replace").strip()
            raise LocalSandboxError(f"the sandbox cannot be built: {words}")

    async def _follow(self, word: str, rest: str) -> None:
        if word == "WORKDIR":
            self._workdir = str(PurePosixPath(self._workdir) / rest)
            await self._checked(f"mkdir -p {shlex.quote(self._workdir)}", cwd="/")
        elif word == "ENV":
            self._image_env |= variables(rest, {"PATH": PATH, **self._image_env})
        elif word == "RUN":
            await self._checked(rest)
        elif word == "COPY":
            *sources, target = shlex.split(rest)
            for source in sources:
                await self._copy(source, target)

    async def _copy(self, source: str, target: str) -> None:
        here = (self.environment_dir / source).resolve()
        if not here.is_relative_to(self.environment_dir.resolve()):
            raise NotUnderstoodError(f"COPY of `{source}`, which is outside the task's environment folder")
        there = str(PurePosixPath(self._workdir) / target)
        if here.is_dir():
            await self.upload_dir(here, there)
        else:
            into_folder = target.endswith("/") or target == "."
            await self.upload_file(here, f"{there}/{here.name}" if into_folder else there)

    async def _checked(self, command: str, cwd: str | None = None) -> None:
        result = await self.exec(command, cwd=cwd)
        if result.return_code != 0:
            raise LocalSandboxError(f"`{command}` ended with {result.return_code}: {result.stderr or result.stdout}")

    async def _untar(self, blob: bytes, target: str) -> None:
        script = 'mkdir -p "$1" && exec tar -x --no-same-owner -C "$1" -f -'
        code, _, err = await self._inside(["sh", "-c", script, "untar", target], stdin=blob)
        if code != 0:
            raise LocalSandboxError(f"nothing could be copied to {target}: {err.decode(errors='replace')}")

    async def _tar(self, folder: str, name: str) -> bytes:
        code, out, err = await self._inside(["tar", "-c", "-C", folder, "-f", "-", "--", name], most=MOST_FETCHED)
        if code != 0:
            raise FileNotFoundError(f"{folder}/{name} could not be copied: {err.decode(errors='replace')}")
        return out

    async def _inside(
        self,
        argv: list[str],
        *,
        cwd: str = "/",
        stdin: bytes | None = None,
        timeout: float | None = None,
        most: int | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Run a command in the sandbox; a timeout or a cancellation leaves no process of it behind."""
        if self._pid is None:
            raise LocalSandboxError("the sandbox is not running")
        return await self._run([*enter_argv(self._pid, cwd), *argv], stdin=stdin, timeout=timeout, most=most)

    async def _run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout: float | None = None,
        most: int | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Run a command; of what it prints `MOST_SAID` bytes are kept, or `most`, beyond which it is killed.

        Raises:
            FileNotFoundError: when it printed more than `most`.
        """
        process = await asyncio.create_subprocess_exec(
            *argv, start_new_session=True,
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", PATH)},  # nothing of Harbor's: a sandbox's root reads it in /proc
        )  # fmt: skip
        try:
            talk = asyncio.gather(
                _kept(process.stdout, most), _kept(process.stderr), _fed(process.stdin, stdin), process.wait()
            )
            out, err, *_ = await asyncio.wait_for(talk, timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        return process.returncode or 0, out, err


async def _kept(stream: asyncio.StreamReader | None, most: int | None = None) -> bytes:
    """Read a stream to its end, so that who writes goes on, and return its beginning."""
    found = bytearray()
    while stream is not None and (chunk := await stream.read(1 << 18)):
        found += chunk[: (most or MOST_SAID) - len(found)]
        if most is not None and len(found) >= most:
            raise FileNotFoundError(f"more than {most >> 20} MB would be fetched")
    return bytes(found)


async def _fed(stream: asyncio.StreamWriter | None, text: bytes | None) -> None:
    if stream is None or text is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # who ends early says why on stderr
        stream.write(text)
        await stream.drain()
    stream.close()


async def result_of(running: Awaitable[tuple[int, bytes, bytes]], seconds: int | None) -> ExecResult:
    """Return how a command ended, as Harbor is told it."""
    try:
        code, out, err = await running
    except TimeoutError:
        return ExecResult(stdout="", stderr=f"Command timed out after {seconds} seconds", return_code=124)
    return ExecResult(stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=code)


def child_of(pid: int) -> int:
    """Return the first child of a process."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _packed(source: Path, name: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(str(source), arcname=name)
    return buffer.getvalue()
