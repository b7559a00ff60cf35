"""A real Slurm on this machine: munged, slurmctld and two slurmd, of Debian's packages, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
NODES = ("n1", "n2")
CONF = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=2,batch_sched_delay=1
KillWait=5
SlurmdTimeout=10
ReturnToService=2
MinJobAge=30
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000
PartitionName=work Nodes=n1,n2 Default=YES MaxTime=60 State=UP
"""


def lacks() -> str:
    """Return why no Slurm can be had here; nothing when one can."""
    if missing := [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]:
        return f"no {', '.join(missing)}: apt-get install slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
    return "" if os.geteuid() == 0 else "slurmd runs as root"


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


class Cluster:
    """Two nodes, as Slurm sees them; both are this machine."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {**os.environ, "PATH": _path(), "SLURM_CONF": str(home / "slurm.conf")}
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        (self.home / "state").mkdir()
        (self.home / "munge.key").write_bytes(os.urandom(1024))
        (self.home / "munge.key").chmod(0o600)
        with ExitStack() as stack:
            found = [stack.enter_context(socket.socket()) for _ in range(3)]
            for each in found:
                each.bind(("127.0.0.1", 0))
            ports = [each.getsockname()[1] for each in found]
        host = socket.gethostname()
        (self.home / "slurm.conf").write_text(CONF.format(home=self.home, host=host, ports=ports))
        options = {name: f"{self.home}/munge.{name}" for name in ("socket", "key", "pid", "log", "seed")}
        munge = [
            f"--{'pid-file' if n == 'pid' else f'{n}-file' if n != 'socket' else n}={path}"
            for n, path in options.items()
        ]
        self._start("munged", "munged", "--foreground", "--force", *munge)
        self.wait_for((self.home / "munge.socket").exists)
        self._start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            self.start_node(node)
        self.wait_for(lambda: self.told("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"])

    def start_node(self, node: str) -> None:
        self._start(node, "slurmd", "-D", "-N", node)

    def kill(self, name: str) -> None:
        """Kill a daemon, `slurmctld` or a node's, as a power cut would."""
        process = self._started.pop(name)
        process.kill()
        process.wait()

    def start_controller(self) -> None:
        self._start("slurmctld", "slurmctld", "-D")

    def told(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        until = time.monotonic() + 120
        while not (found := condition()):
            assert time.monotonic() < until, self.told("sinfo", "-N", "-l") + self.told("squeue", "--array")
            time.sleep(0.1)
        return found

    def close(self) -> None:
        self.told("scancel", "--signal=KILL", "--full", f"--user={os.geteuid()}")
        self.told("scancel", f"--user={os.geteuid()}")
        for process in reversed(self._started.values()):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, *command: str) -> None:
        with (self.home / f"{name}.out").open("ab") as sink:
            self._started[name] = subprocess.Popen(command, env=self.environ, stdout=sink, stderr=sink)
