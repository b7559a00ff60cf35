"""Ways to what nobody paid for or earned: processor time, bytes over a cap, and the score itself.

`t` says `mark` (the name by which a process or thread is seen from outside), `paid` (seconds of processor time), `cap` (MB of memory).
"""

from __future__ import annotations

from collections.abc import Mapping

_BURN = """
import ctypes, os, signal, struct, subprocess, sys, threading, time
c = ctypes.CDLL(None)
def burn(n=1):
    c.prctl(15, t['mark'].encode(), 0, 0, 0)
    until = time.monotonic() + 50
    while time.monotonic() < until and sum(os.times()[:2]) < t['paid'] + 2:
        sum(range(100000))
"""
BURNING: Mapping[str, str] = {
    "burns": "burn()",
    "deaf to the limit's signal": "signal.signal(signal.SIGXCPU, signal.SIG_IGN); burn()",
    "deaf to every signal": (
        "for n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nburn()"
    ),
    "raises its limit": (
        "import resource\ntry: resource.setrlimit(resource.RLIMIT_CPU, (600, 600))\nexcept (OSError, ValueError): pass\nburn()"
    ),
    "raises its limit by a raw call": "c.prlimit(0, 0, struct.pack('QQ', 600, 600), None); burn()",
    "in threads": (
        "many = [threading.Thread(target=burn) for n in range(3)]\nfor one in many: one.start()\nfor one in many: one.join()"
    ),
    "in what it returns": "class Loot:\n    def __repr__(self):\n        burn()\n        return ''\nreturn Loot()",
    "in what it raises": "class Loot(Exception):\n    def __str__(self):\n        burn()\n        return ''\nraise Loot()",
}
"""For as long as it runs."""
LINGERING: Mapping[str, str] = {
    "a child in a session of its own": "if os.fork() == 0:\n    os.setsid()\n    burn()\n    os._exit(0)",
    "a grandchild": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        burn()\n        os._exit(0)\n    os._exit(0)"
    ),
    "a child deaf to signals": (
        "if os.fork() == 0:\n    os.setsid()\n    for n in (1, 2, 3, 13, 15):\n        signal.signal(n, signal.SIG_IGN)\n"
        "    burn()\n    os._exit(0)"
    ),
    "a thread of a child": (
        "if os.fork() == 0:\n    os.setsid()\n    one = threading.Thread(target=burn)\n    one.start()\n    one.join()\n    os._exit(0)"
    ),
    "a child by C": "if c.fork() == 0:\n    c.setsid()\n    burn()\n    c._exit(0)",
    "a program of its own": (
        "shell = '/bin/bash' if os.path.exists('/bin/bash') else '/bin/sh'\nos.symlink(shell, t['mark'])\n"
        "subprocess.Popen(['./' + t['mark'], '-c', 'n=0; while [ $n -lt 3000000 ]; do n=$((n+1)); done'], start_new_session=True)"
    ),
}
"""After it has ended."""
_TAKE = """
import ctypes, mmap, os, struct, subprocess, sys, threading, time
c = ctypes.CDLL(None)
c.malloc.restype = c.sbrk.restype = ctypes.c_void_p
c.sbrk.argtypes = [ctypes.c_ssize_t]
c.malloc.argtypes = [ctypes.c_size_t]
c.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
n = (2 * t['cap']) << 20
c.prctl(15, t['mark'].encode(), 0, 0, 0)
"""
_HOLD = "\ntime.sleep(0.7)"
TAKING: Mapping[str, str] = {
    "at once": f"x = b'x' * n{_HOLD}",
    "in pieces": f"x = []\nfor m in range(n >> 20): x.append(b'x' * (1 << 20)){_HOLD}",
    "touched later": f"x = bytearray(n)\nx[::4096] = b'x' * len(x[::4096]){_HOLD}",
    "grown": f"x = bytearray()\nwhile len(x) < n: x.extend(b'x' * (1 << 20)){_HOLD}",
    "mapped": f"x = mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nfor m in range(0, n, 4096): x[m] = 1{_HOLD}",
    "by C": f"p = c.malloc(n)\nif p: c.memset(p, 1, n){_HOLD}",
    "at its heap's end": f"p = c.sbrk(n)\nif p not in (None, 2 ** 64 - 1): c.memset(p, 1, n){_HOLD}",
    "in a thread": (
        "def take():\n    c.prctl(15, t['mark'].encode(), 0, 0, 0)\n    x = b'x' * n\n    time.sleep(0.7)\n"
        "one = threading.Thread(target=take)\none.start()\none.join()"
    ),
    "raises its limit": (
        "import resource\nfor what in (resource.RLIMIT_DATA, resource.RLIMIT_AS):\n    try: resource.setrlimit(what, (8 * n, 8 * n))\n"
        f"    except (OSError, ValueError): pass\nx = b'x' * n{_HOLD}"
    ),
    "raises its limit by a raw call": (
        f"for what in (2, 9): c.prlimit(0, what, struct.pack('QQ', 8 * n, 8 * n), None)\nx = b'x' * n{_HOLD}"
    ),
}
_FORGE = "import builtins, ctypes, gc, struct, sys, threading\nframe = sys._getframe(1)\n"
FORGING: Mapping[str, str] = {
    "an answer that is never far off": "class Loot:\n    def __sub__(self, other): return 0.0\nreturn Loot()",
    "a figure of its own": "class Loot(float):\n    def __sub__(self, other): return 0.0\nreturn Loot(1)",
    "patched arithmetic": "builtins.abs = lambda x: 0.0\nreturn 1.0",
    "the guide replaced": "frame.f_globals['guide'] = lambda output, truth: 1.0\nreturn 1.0",
    "the guide's code": "frame.f_globals['guide'].__code__ = (lambda output, truth: 1.0).__code__\nreturn 1.0",
    "the guide, by the collector": (
        "for one in gc.get_objects():\n    if type(one) is type(lambda: 0) and one.__name__ == 'guide':\n"
        "        one.__code__ = (lambda output, truth: 1.0).__code__\nreturn 1.0"
    ),
    "the truth, by its caller's frame": "return frame.f_locals['truth']",
    "the truth, by a traceback": (
        "try: 1 / 0\nexcept ZeroDivisionError as error: return error.__traceback__.tb_frame.f_back.f_locals['truth']"
    ),
    "the truth, by another thread": (
        "found = []\ndef look():\n    for one in sys._current_frames().values():\n        while one:\n"
        "            found.extend([one.f_locals['truth']] if 'truth' in one.f_locals else [])\n            one = one.f_back\n"
        "one = threading.Thread(target=look)\none.start()\none.join()\nreturn found[0]"
    ),
    "the truth, by what refers to it": (
        "for one in gc.get_referrers(t):\n    if type(one) is list and len(one) == 4: return one[3]"
    ),
    "the truth, by the collector": (
        "for one in gc.get_objects():\n    if type(one) is list and len(one) == 4 and type(one[3]) is float and one[2] is t: return one[3]"
    ),
    "the truth, overwritten in memory": (
        "ctypes.memmove(id(frame.f_locals['truth']) + 16, struct.pack('d', 1.0), 8)\nreturn 1.0"
    ),
}
"""Of a guide in the same process it earns what nothing has earned."""


def burning(body: str) -> str:
    """Return the body of an attack that uses the processor."""
    return _BURN.strip() + "\n" + body


def lingering(body: str) -> str:
    """Return the body of one that leaves something behind, which has had the time to get away."""
    return burning(body) + "\ntime.sleep(0.3)"


def taking(body: str) -> str:
    """Return the body of one that takes memory."""
    return _TAKE.strip() + "\n" + body


def forging(body: str) -> str:
    """Return the body of one that is to be scored."""
    return _FORGE + body
