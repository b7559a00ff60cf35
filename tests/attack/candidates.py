"""Hostile candidates, as data: what each tries, and how the sandbox may answer. Run as a script, prints what happened as a table.

`attack` is the entry; `{secret}` stands for a file with a key outside of the sandbox, `{outside}` for a folder that must stay empty.
"""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import tempfile
from pathlib import Path
from typing import NamedTuple


class Hostile(NamedTuple):
    """One candidate; `expected` are the statuses that count as contained."""

    name: str
    source: str
    expected: frozenset[str]


def _hostile(name: str, expected: str, *lines: str, top: str = "") -> Hostile:
    head = "import ctypes, os, signal, socket, sys, time\nimport numpy\n" + top + "\ndef attack():\n"
    return Hostile(name, head + "".join(f"    {line}\n" for line in lines), frozenset(expected.split()))


_SYSCALL = "libc = ctypes.CDLL(None, use_errno=True)\ndef check(r):\n    if r < 0: raise OSError(ctypes.get_errno(), 'refused')\n"
_FRAME = (
    "import json, struct\ndef frame(m):\n    text = json.dumps(m).encode()\n"
    "    return struct.pack('<II', len(text), 0) + text\n"
    "def everywhere(data):\n    for fd in range(3, 300):\n        try: os.write(fd, data)\n        except OSError: pass\n"
)

CANDIDATES = [
    # time
    _hostile("endless Python loop", "timeout", "while True: pass"),
    _hostile("endless loop in C", "timeout", "return sum(range(10**13))"),
    _hostile("backtracking regular expression", "timeout", "import re", "re.match('(a+)+$', 'a' * 64 + 'b')"),
    _hostile("sleep that holds the GIL", "timeout", "ctypes.PyDLL(None).sleep(60)"),
    _hostile("ignores SIGTERM", "timeout", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "while True: pass"),
    _hostile(
        "swallows every exception",
        "timeout",
        "while True:",
        "    try: time.sleep(60)",
        "    except BaseException: pass",
    ),
    _hostile("stops itself", "timeout", "os.kill(os.getpid(), signal.SIGSTOP)"),
    _hostile("loops at import", "timeout", "pass", top="while True: pass"),
    # processes
    _hostile("fork bomb", "forbidden", "while True: os.fork()"),
    _hostile(
        "thread bomb",
        "error timeout",
        "import threading",
        "while True: threading.Thread(target=time.sleep, args=(60,)).start()",
    ),
    _hostile("daemonises", "forbidden", "if os.fork() == 0:", "    os.setsid()", "    time.sleep(600)"),
    _hostile("runs a shell", "forbidden", "import subprocess", "return subprocess.run(['/bin/sh', '-c', 'id'])"),
    _hostile("becomes another program", "forbidden", "os.execv('/bin/sleep', ['sleep', '600'])"),
    _hostile("kills its parent", "forbidden", "os.kill(os.getppid(), signal.SIGKILL)"),
    _hostile("kills everyone", "forbidden", "os.kill(-1, signal.SIGKILL)"),
    _hostile("kills its process group", "forbidden", "os.killpg(0, signal.SIGKILL)"),
    _hostile("debugs its parent", "forbidden", "check(libc.ptrace(16, os.getppid(), None, None))", top=_SYSCALL),
    _hostile("reads its parent's memory", "forbidden", "return open(f'/proc/{os.getppid()}/mem', 'rb').read(1)"),
    _hostile(
        "limits its parent",
        "forbidden",
        "import resource",
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    ),
    _hostile("outlives its parent", "forbidden", "check(libc.prctl(1, 0, 0, 0, 0))", top=_SYSCALL),
    _hostile("takes new namespaces", "forbidden", "check(libc.unshare(0x10000000))", top=_SYSCALL),
    _hostile("mounts", "forbidden", "check(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))", top=_SYSCALL),
    _hostile("leaves shared memory behind", "forbidden", "check(libc.shmget(0, 4096, 0o1600))", top=_SYSCALL),
    # memory and disk
    _hostile("allocates 10 GB", "memory", "return len(bytearray(10 << 30))"),
    _hostile("allocates 10 GB in numpy", "memory", "return numpy.ones(10 << 27).sum()"),
    _hostile("allocates step by step", "memory timeout", "kept = []", "while True: kept.append(bytearray(1 << 24))"),
    _hostile(
        "raises its limits", "error forbidden", "import resource", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))"
    ),
    _hostile(
        "writes a 10 GB file",
        "error",
        "with open('big', 'wb') as f:",
        "    for _ in range(10 << 10): f.write(bytes(1 << 20))",
    ),
    _hostile(
        "writes 10 GB of files",
        "killed timeout error",
        "for n in range(10 << 10):",
        "    with open(f'big{n}', 'wb') as f: f.write(bytes(1 << 20))",
    ),
    _hostile("prints 1 GB", "ok timeout", "for _ in range(1 << 10): print('x' * (1 << 20))"),
    _hostile("writes 1 GB to descriptor 1", "ok timeout", "for _ in range(1 << 10): os.write(1, bytes(1 << 20))"),
    # files
    _hostile("reads a key file", "forbidden", "return open('{secret}').read()"),
    _hostile("lists the home folder", "forbidden", "return os.listdir(os.path.expanduser('~root'))"),
    _hostile(
        "reads every environment",
        "forbidden",
        "for pid in os.listdir('/proc'): return open(f'/proc/{pid}/environ').read()",
    ),
    _hostile("reads its parent's environment", "forbidden", "return open(f'/proc/{os.getppid()}/environ').read()"),
    _hostile("reads /etc/shadow", "forbidden", "return open('/etc/shadow').read()"),
    _hostile("writes outside", "forbidden", "open('{outside}/proof', 'w').write('x')"),
    _hostile("links outside", "forbidden", "os.symlink('x', '{outside}/proof')"),
    _hostile("reads through a link", "forbidden", "os.symlink('{secret}', 'link')", "return open('link').read()"),
    _hostile("changes modes outside", "forbidden", "os.chmod('{secret}', 0o777)"),
    _hostile("changes times outside", "forbidden", "os.utime('{secret}', (0, 0))"),
    _hostile("deletes outside", "forbidden", "os.unlink('{secret}')"),
    _hostile("patches a module on disk", "forbidden", "open(numpy.__file__, 'a').write('x')"),
    # network
    _hostile("connects by TCP", "forbidden", "socket.create_connection(('127.0.0.1', 80), 1)"),
    _hostile(
        "sends by UDP", "forbidden", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))"
    ),
    _hostile("connects by Unix socket", "forbidden", "socket.socket(socket.AF_UNIX).connect('/run/x.sock')"),
    _hostile("opens a raw socket", "forbidden", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    _hostile("opens a netlink socket", "forbidden", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
    _hostile("asks the DNS", "forbidden error", "return socket.gethostbyname('example.org')"),
    # its own end
    _hostile("calls os._exit(0)", "error", "os._exit(0)"),
    _hostile("raises SystemExit", "error", "raise SystemExit(0)"),
    _hostile("raises KeyboardInterrupt", "error", "raise KeyboardInterrupt"),
    _hostile("recurses", "error", "return attack()"),
    _hostile(
        "recurses without a limit", "killed error memory timeout", "sys.setrecursionlimit(10**9)", "return attack()"
    ),
    _hostile("segfaults", "killed", "ctypes.string_at(0)"),
    _hostile("aborts", "killed", "os.abort()"),
    _hostile(
        "raises an exception that lies",
        "error",
        "raise Odd",
        top="class Odd(Exception):\n    def __str__(self): raise ValueError",
    ),
    Hostile("has no entry", "def other(): pass\n", frozenset({"invalid"})),
    Hostile("does not parse", "def attack(:\n", frozenset({"invalid"})),
    # values
    _hostile("returns NaN", "ok", "return float('nan')"),
    _hostile("returns infinity", "ok", "return float('inf')"),
    _hostile("returns None", "ok", "return None"),
    _hostile("returns a huge array", "invalid", "return numpy.zeros(8 << 20)"),
    _hostile("returns a huge list", "invalid", "return [0] * (1 << 23)"),
    _hostile("returns a huge integer", "invalid", "return 10 ** 100_000"),
    _hostile(
        "returns an object that lies",
        "invalid",
        "return Liar()",
        top="class Liar:\n    __eq__ = __lt__ = lambda s, o: True\n    def __float__(s): return 1e9",
    ),
    _hostile(
        "returns a float that lies",
        "ok",
        "return Liar(0.0)",
        top="class Liar(float):\n    __eq__ = __gt__ = lambda s, o: True\n    __hash__ = float.__hash__\n    __repr__ = lambda s: '1e9'",
    ),
    _hostile("returns what cannot be pickled", "invalid", "return lambda: 0"),
    _hostile(
        "returns a pickle bomb",
        "invalid",
        "return Bomb()",
        top="class Bomb:\n    def __reduce__(s): return os.system, ('touch {outside}/proof',)",
    ),
    _hostile("returns a list that holds itself", "invalid", "kept = []", "kept.append(kept)", "return kept"),
    _hostile("returns a deep nest", "invalid", "kept = []", "for _ in range(100_000): kept = [kept]", "return kept"),
    _hostile("returns half a surrogate pair", "invalid", "return '\\ud800'"),
    _hostile("returns keys that collide", "invalid", "return {k * ((1 << 61) - 1) for k in range(3000)}"),
    # the channel
    _hostile("writes noise to the result channel", "invalid", "everywhere(b'x' * 64)", "time.sleep(60)", top=_FRAME),
    _hostile("announces 4 GB", "invalid", "everywhere(b'\\xff' * 8)", "time.sleep(60)", top=_FRAME),
    _hostile("claims a status", "invalid", "everywhere(frame({'n': 0, 's': 'timeout'}))", "time.sleep(60)", top=_FRAME),
    _hostile(
        "writes an answer to the result channel",
        "ok",
        "everywhere(frame({'n': 0, 's': 'ok', 'v': 999}))",
        "return 1",
        top=_FRAME,
    ),
    _hostile("closes every descriptor", "error", "os.closerange(0, 1024)", "return 1"),
    # its surroundings
    _hostile("patches numpy", "ok", "numpy.average = numpy.mean = lambda *a, **k: 1e9", "return 0"),
    _hostile(
        "patches builtins",
        "ok error invalid",
        "import builtins",
        "builtins.sum = builtins.isinstance = lambda *a: 1e9",
        "return 0",
    ),
    _hostile("patches json and os", "ok", "import json", "json.dumps = os.write = lambda *a, **k: None", "return 0"),
    _hostile("patches time", "ok", "time.time = time.monotonic = time.perf_counter = lambda: 0.0", "return 0"),
]


def main() -> None:
    """Run every candidate and print the Markdown table of the documentation."""
    from tracebench_core.specs import Limits
    from tracebench_sandbox import open_sandbox

    numpy_folder = os.path.dirname(str(importlib.util.find_spec("numpy").origin))  # type: ignore[union-attr]  # noqa: PTH120
    print("| candidate | what happened | what the optimizer is told |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, open_sandbox(preload=["numpy"]) as sandbox:
        secret = Path(folder, "key")
        secret.write_text("secret")
        escapes = runpy.run_path(str(Path(__file__).with_name("escapes.py")))["ESCAPES"]
        for hostile in [*CANDIDATES, *escapes]:
            source = hostile.source.replace("{secret}", str(secret)).replace("{outside}", folder)
            seconds = 0.5 if "timeout" in hostile.expected else 10.0
            limits = Limits(seconds=seconds, patience=1, memory_mb=512, file_mb=16)
            outcome = sandbox.call(source, "attack", limits=limits)
            words = outcome.error.replace(folder, "/home/user").replace("|", "\\|")
            words = re.sub(r"/proc/\d+", "/proc/PID", words).replace(numpy_folder, "…")[:110]
            value = "" if outcome.status != "ok" else f"(its answer is scored: `{str(outcome.value)[:20]}`)"
            print(f"| {hostile.name} | `{outcome.status}` | {words or value} |", flush=True)


if __name__ == "__main__":
    main()
