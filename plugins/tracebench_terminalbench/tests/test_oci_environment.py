"""Tasks from their own images in Harbor, without a container engine: what `FROM` names is what is inside, within the task's limits.

Roots of Debian's releases, as `mmdebstrap --variant=minbase bookworm bookworm.tar` makes them, are taken from `$TRACEBENCH_DEBIAN_ROOTS`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_terminalbench.tests.images import busybox, debian, needs_tools

from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.job_config import job_config
from tracebench_terminalbench.launch import Ended, harbor_environ, run_job
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.trials import Trial, read_trials

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(900)]
REWARD = "echo $? | sed 's/[^0]/x/; s/0/1/; s/x/0/' > /logs/verifier/reward.txt"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    needs_tools(folder)
    return busybox(folder)


@pytest.fixture
def write_image_task(tmp_path: Path, write_task: Callable[..., Path]) -> Callable[..., Case]:
    """Write a task of an image: `solved` is its solution, `check` a command that succeeds where it is solved."""

    def write(
        name: str, solved: str, check: str, *, dockerfile: str = "FROM base\nWORKDIR /app\n", more: str = ""
    ) -> Case:
        folder = write_task(name, f"{check}\n{REWARD}", dockerfile=dockerfile)
        for script in ("solution/solve.sh", "tests/test.sh"):
            path = folder / script
            path.write_text(path.read_text().replace("#!/bin/bash", "#!/bin/sh").replace("\ntrue\n", f"\n{solved}\n"))
        with (folder / "task.toml").open("a") as settings:
            settings.write(more)
        settings_of = folder / "task.toml"
        words = settings_of.read_text().replace("build_timeout_sec = 120.0", "build_timeout_sec = 900.0")
        settings_of.write_text(words.replace("timeout_sec = 3.0", "timeout_sec = 120.0"))
        return Case(name, folder)

    return write


def run(
    harbor: Harbor, tmp_path: Path, cases: list[Case], agent: str, *, images: dict[str, str], **kwargs: Any
) -> Ended:
    made = Options.model_validate(
        {
            "harbor_env": "oci",
            "agent": agent,
            "harbor_environment_kwargs": {"images": images, "network": "none", **kwargs},
        }
    )
    folder = tmp_path / f"jobs-{agent}"
    folder.mkdir()
    config = job_config(made, cases, name="job", folder=folder, subject={}, model=None)
    config["environment"]["kwargs"]["store"] = str(tmp_path / "store")
    return run_job(harbor.command, config, folder=folder, environ=harbor_environ(os.environ, extra={}))


def trials(ended: Ended) -> dict[str, Trial]:
    found = {trial.slug: trial for trial in read_trials(ended.folder)}
    assert found, ended.said
    return found


def running(words: str) -> dict[int, str]:
    """Return the processes other than this one whose command holds such words."""
    found = {}
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if words in line and int(process.parent.name) != os.getpid():
            found[int(process.parent.name)] = line
    return found


def test_what_the_task_starts_from_is_inside_and_its_limits_hold(
    harbor: Harbor, tmp_path: Path, base: Path, write_image_task: Callable[..., Case]
) -> None:
    user = "FROM base\nRUN mkdir /job && chown 1000:1000 /job\nWORKDIR /job\nUSER worker\n"
    cases = [
        write_image_task("from", "grep ^ID= /etc/os-release > /app/id", "grep -q tracebench-busybox /app/id"),
        write_image_task(
            "host", "true", "test ! -e /usr/bin/python3 && test ! -e /home && R=/proc/1/root && ! ls $R/usr/bin/python3"
        ),
        write_image_task("alone", "true", "ifconfig | grep -c RUNNING | grep -qx 1"),
        write_image_task("mounts", "true", "! mknod /x b 8 0 && ! sh -c 'echo 1 > /proc/sysrq-trigger'"),
        write_image_task(
            "rights",
            "mkdir /mnt; /bin/busybox mount -t tmpfs t /mnt; /bin/busybox umount /proc/sys; "
            "/bin/busybox unshare -U /bin/busybox mount -t tmpfs t /mnt",
            "! grep -q ' /mnt ' /proc/mounts && grep -q ' /proc/sys ' /proc/mounts && ! /bin/busybox unshare -U true"
            " && ! tr '\\0' '\\n' < /proc/self/environ | grep -q HARBOR",
        ),
        write_image_task("user", "id > /job/who", "grep -q uid=1000 /job/who", dockerfile=user),
        write_image_task("memory", "true", "! head -c 700m /dev/zero | tail -c 699m > /dev/null"),
        write_image_task("storage", "true", "! head -c 80m /dev/zero > /big && rm /big", more="storage_mb = 64\n"),
    ]
    images = {"base": f"{base}:1"}

    solved = trials(run(harbor, tmp_path, cases, "oracle", images=images))
    idle = trials(run(harbor, tmp_path, cases[:1], "nop", images=images))

    assert {slug: (trial.reward, trial.error) for slug, trial in solved.items()} == {
        case.slug: (1.0, "") for case in cases
    }
    assert idle["from"].reward == 0.0
    assert running(str(tmp_path)) == {}


def test_what_cannot_be_run_is_nothing_measured_and_the_others_are(
    harbor: Harbor, tmp_path: Path, base: Path, write_image_task: Callable[..., Case]
) -> None:
    (tmp_path / "junk.tar").write_bytes(b"no archive")
    bomb = "f() { f | f & f; }; f; sleep 1; f"
    cases = [
        write_image_task("good", "touch /app/done", "test -e /app/done"),
        write_image_task("junk", "true", "true", dockerfile="FROM junk\n"),
        write_image_task("gone", "true", "true", dockerfile="FROM 127.0.0.1:9/gone\n"),
        write_image_task("step", "true", "true", dockerfile="FROM base\nRUN exit 7\n"),
        write_image_task("forks", f"( {bomb} ) & sleep 3", "true"),
    ]
    compose = write_image_task("compose", "true", "true")
    assert compose.path is not None
    (compose.path / "environment/docker-compose.yaml").write_text("services: {main: {}}\n")

    found = trials(
        run(harbor, tmp_path, [*cases, compose], "oracle", processes=60,
            images={"base": f"{base}:1", "junk": str(tmp_path / "junk.tar")})
    )  # fmt: skip

    assert found["good"].reward == 1.0
    for slug, words in {
        "junk": "is no image", "gone": "`127.0.0.1:9/gone` cannot be had", "step": "buildah", "compose": "docker-compose",
    }.items():  # fmt: skip
        assert (found[slug].reward, found[slug].suspect) == (None, False), slug
        assert words in found[slug].error
    assert found["forks"].reward is None
    assert found["forks"].suspect, "the candidate may be its cause"
    assert running(str(tmp_path)) == {}


def test_a_hostile_task_takes_neither_memory_nor_time_from_an_honest_one(
    harbor: Harbor, tmp_path: Path, base: Path, write_image_task: Callable[..., Case]
) -> None:
    sparse = "/bin/busybox dd if=/dev/null of=/logs/agent/x bs=1 count=0 seek=500G"
    users = "printf 'worker:x:many:1::/srv:/bin/sh\\nworker:x:1000:1000::/srv:/bin/sh\\n' > /etc/passwd"
    cases = [
        write_image_task("good", "touch /app/done", "test -e /app/done"),
        write_image_task("sparse", sparse, "test -s /logs/agent/x"),
        write_image_task("loud", "true", "/bin/busybox yes | head -c 900m"),
        write_image_task("fifo", "mkdir -p /tests; /bin/busybox mkfifo /tests/test.sh", "test ! -p /tests/test.sh"),
        write_image_task("users", "true", "id | grep -q uid=1000", dockerfile=f"FROM base\nRUN {users}\nUSER worker\n"),
        write_image_task("beyond", "true", "true", dockerfile="FROM base\nUSER 100000\n"),
    ]

    found = trials(run(harbor, tmp_path, cases, "oracle", images={"base": f"{base}:1"}))

    assert {slug: found[slug].reward for slug in ("good", "fifo", "users")} == {"good": 1.0, "fifo": 1.0, "users": 1.0}
    assert found["loud"].reward is None, "its verifier printed more than is fetched"
    assert "up to 65535" in found["beyond"].error
    assert sum(path.stat().st_size for path in (tmp_path / "jobs-oracle").rglob("*") if path.is_file()) < 1 << 30
    assert running(str(tmp_path)) == {}


def test_nothing_is_left_of_a_trial_whose_processes_are_killed(
    harbor: Harbor, tmp_path: Path, base: Path, write_image_task: Callable[..., Case]
) -> None:
    case = write_image_task("sleeps", "sleep 999", "true")
    made = Options.model_validate({"harbor_env": "oci", "agent": "oracle"})
    config = job_config(made, [case], name="job", folder=tmp_path, subject={}, model=None)
    kwargs = {"store": str(tmp_path / "store"), "images": {"base": f"{base}:1"}, "network": "none"}
    config["environment"]["kwargs"] |= kwargs
    begun, seen = time.monotonic(), []

    def kill() -> None:
        assert time.monotonic() - begun < 600
        if not seen and running("sleep 999"):
            seen.extend(pid for pid, line in running(str(tmp_path)).items() if "oci.holder" in line)
            for pid in seen:
                os.kill(pid, signal.SIGKILL)

    done = run_job(harbor.command, config, folder=tmp_path, environ=harbor_environ(os.environ, extra={}), check=kill)

    assert len(seen) == 3, "the holder, its child, and the first process of the sandbox"
    assert trials(done)["sleeps"].reward is None
    assert trials(done)["sleeps"].error
    assert running(str(tmp_path)) == {}
    assert running("sleep 999") == {}


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_a_release_of_debian_is_what_its_task_runs_on(
    harbor: Harbor, tmp_path: Path, release: str, write_image_task: Callable[..., Case]
) -> None:
    needs_tools(tmp_path)
    place = debian(tmp_path, release)
    dockerfile = f"FROM debian:{release}\nRUN dpkg --version > /made && useradd someone\nWORKDIR /app\n"
    by_file = write_image_task(
        "built", "cat /etc/os-release > /app/os; id someone >> /app/os",
        f"grep -q VERSION_CODENAME={release} /app/os && grep -q uid=1000 /app/os && test -s /made", dockerfile=dockerfile,
    )  # fmt: skip
    whole = write_image_task(
        "whole", "perl -e 'print 6*7' > /app/answer", "grep -qx 42 /app/answer",
        more=f'docker_image = "debian:{release}"\nworkdir = "/app"\n',
    )  # fmt: skip
    images = {f"debian:{release}": place}

    solved = trials(run(harbor, tmp_path, [by_file, whole], "oracle", images=images))
    idle = trials(run(harbor, tmp_path, [by_file, whole], "nop", images=images))

    assert {slug: (trial.reward, trial.error) for slug, trial in solved.items()} == {
        "built": (1.0, ""),
        "whole": (1.0, ""),
    }
    assert {slug: trial.reward for slug, trial in idle.items()} == {"built": 0.0, "whole": 0.0}


def test_a_network_leads_out_and_not_to_the_host(
    harbor: Harbor, tmp_path: Path, base: Path, write_image_task: Callable[..., Case]
) -> None:
    if subprocess.run(["sh", "-c", "command -v slirp4netns && test -c /dev/net/tun"], check=False).returncode:
        pytest.skip("no slirp4netns here (Debian: apt-get install slirp4netns), or no /dev/net/tun")
    server = subprocess.Popen(["python3", "-m", "http.server", "--bind", "127.0.0.1", "0"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONUNBUFFERED": "1"})  # fmt: skip
    assert server.stdout is not None
    port = server.stdout.readline().split(" port ")[1].split()[0]
    case = write_image_task(
        "online", "true", f"ifconfig tap0 | grep -q 10.0.2.100 && ! nc -w 3 10.0.2.2 {port} < /dev/null"
    )
    try:
        found = trials(run(harbor, tmp_path, [case], "oracle", images={"base": f"{base}:1"}, network="task"))
    finally:
        server.kill()
        server.communicate()

    assert (found["online"].reward, found["online"].error) == (1.0, "")
    assert running(str(tmp_path)) == {}
