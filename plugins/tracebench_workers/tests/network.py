"""Machines of one machine: namespaces, each with an address, a loopback and a clock of its own, on one bridge; each can be unplugged."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from contextlib import suppress

SUBNET = "198.18.{}"
"""Of the addresses that are set aside for trials of networks (RFC 2544)."""
DAY = 86400
"""In seconds."""


class Network:
    """A bridge that this machine has the address `here` on, and what is plugged into it."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(3)
        self._subnet = SUBNET.format(secrets.randbelow(256))
        self._nodes: list[str] = []
        self.here = f"{self._subnet}.1"
        bridge = f"tb{self._mark}"
        try:
            _ip("link", "add", bridge, "type", "bridge")
            _ip("addr", "add", f"{self.here}/24", "dev", bridge)
            _ip("link", "set", bridge, "up")
        except BaseException:
            self.close()
            raise

    def plug(self) -> int:
        """Add a machine; return its number."""
        number = len(self._nodes)
        node, port = f"tb{self._mark}-{number}", self._port(number)
        self._nodes.append(node)
        _ip("netns", "add", node)
        _ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", node)
        _ip("link", "set", port, "master", f"tb{self._mark}", "up")
        for words in ("addr add {}.{}/24 dev eth0", "link set eth0 up", "link set lo up"):
            _ip("-n", node, *words.format(self._subnet, number + 2).split())
        return number

    def within(self, number: int) -> list[str]:
        """Return the words that run a command on a machine, whose monotonic clock is as many days ahead as its number says, and one."""
        clock = ["unshare", "--time", "--monotonic", str(DAY * (number + 1)), "--fork", "--kill-child"]
        return ["ip", "netns", "exec", self._nodes[number], *clock]

    def unplug(self, number: int, *, again: bool = False) -> None:
        """Take a machine's link down, or `again` up: nobody is told, no connection is closed."""
        _ip("link", "set", self._port(number), "up" if again else "down")

    def pids(self, number: int) -> list[int]:
        """Return what runs on a machine."""
        return [int(pid) for pid in _ip("netns", "pids", self._nodes[number]).split()]

    def close(self) -> None:
        """Leave nothing."""
        for number, node in enumerate(self._nodes):
            self._leave("netns", "del", node)
            self._leave("link", "del", self._port(number))  # connections that were cut may hold what the name stood for
        self._leave("link", "del", f"tb{self._mark}")

    @staticmethod
    def _leave(*words: str) -> None:
        with suppress(subprocess.CalledProcessError):
            _ip(*words)

    def _port(self, number: int) -> str:
        return f"tb{self._mark}p{number}"


def lacks() -> str:
    """Return why there can be no such network here; nothing where there can."""
    if shutil.which("ip") is None:
        return "no `ip`: apt-get install iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        network = Network()
    except subprocess.CalledProcessError as err:
        return f"no network of its own can be made here: {err.stderr.strip()}"
    try:
        argv = network.within(network.plug())
        subprocess.run([*argv, "true"], capture_output=True, text=True, check=True, timeout=60)
    except subprocess.CalledProcessError as err:
        return f"no machine can be plugged in here: {err.stderr.strip()}"
    finally:
        network.close()
    return ""


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True, timeout=60).stdout
