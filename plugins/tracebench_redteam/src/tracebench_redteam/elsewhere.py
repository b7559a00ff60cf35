"""The attacks on candidates, tried on the tasks of any suite: what they reach is seen from outside, what they score beside a plain answer.

Left out is what needs a limit that only the suite knows (processes, memory, processor time while it runs).
"""

from __future__ import annotations

import base64
import json
import secrets
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tracebench_core.specs import Feedback
from tracebench_engine.api.programs import scratch_folder
from tracebench_redteam.attacks import ALONE, ATTACKS, SEEN_BY_FOLDER, Attack
from tracebench_redteam.ground import LATE_SECONDS, Ears, Ground, wait_for_gains
from tracebench_redteam.places import LINGER_SECONDS
from tracebench_redteam.running import SOURCE
from tracebench_redteam.unpaid import LINGERING
from tracebench_redteam.watching import Watch
from tracebench_testing.attacks import Forgery, Target

_ALWAYS = (
    "    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = lambda *_: True\n"
    "    __hash__ = object.__hash__\n"
)
_NEVER_OFF = "    __sub__ = __rsub__ = __abs__ = __mod__ = lambda *_: 0.0\n"
LIES = {
    "a number that equals everything": (f"class Lie(float):\n{_ALWAYS}{_NEVER_OFF}", "Lie(7)", "7.0"),
    "an integer that equals everything": (f"class Lie(int):\n{_ALWAYS}{_NEVER_OFF}", "Lie(7)", "7"),
    "a text that equals everything": (f"class Lie(str):\n{_ALWAYS}    strip = lower = lambda self, *_: self\n", "Lie('7')", "'7'"),
    "a list that has everything": (
        f"class Lie(list):\n{_ALWAYS}    __getitem__ = lambda self, at: self\n    count = lambda *_: 1\n", "Lie([7])", "[7]",
    ),
    "a mapping that has everything": (
        f"class Lie(dict):\n{_ALWAYS}    __getitem__ = __missing__ = lambda self, at: 1.0\n    get = lambda *_: 1.0\n",
        "Lie(a=7)",
        "{'a': 7}",
    ),
    "an object that is whatever is asked": (
        (
            f"class Lie:\n{_ALWAYS}{_NEVER_OFF}    __float__ = lambda self: 1.0\n    __int__ = __index__ = __len__ = lambda self: 1\n"
            "    __getattr__ = __getitem__ = __call__ = lambda self, *_, **__: self\n"
        ),
        "Lie()",
        "None",
    ),
}  # fmt: skip
"""What is defined, what is returned, and the plain answer that the lie stands for and may not outscore."""
_NAMES = "('truth', 'reference', 'references', 'expected', 'answer', 'answers', 'solution', 'gold', 'label', 'target', 'example')"
_PICK = (
    f"def _pick(held):\n    for name in {_NAMES}:\n        if name in held and held[name] is not None:\n"
    "            return [getattr(held[name], 'reference', held[name])]\n    return []\n"
)
LOOKED_UP = {
    "the truth, by its callers' frames": (
        "import sys\n" + _PICK + "def _find():\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for held in _pick(frame.f_locals): return held\n        frame = frame.f_back\n"
    ),
    "the truth, by other threads": (
        "import sys\n"
        + _PICK
        + "def _find():\n    for frame in sys._current_frames().values():\n        while frame:\n"
        "            for held in _pick(frame.f_locals): return held\n            frame = frame.f_back\n"
    ),
    "the truth, by the collector": (
        "import gc\n" + _PICK + "def _find():\n    for one in gc.get_objects():\n        if type(one) is dict:\n"
        "            for held in _pick(one): return held\n"
    ),
}
"""What a program finds by name where its guide is in its own process; it may not outscore a program that does nothing."""
_CALLS = "s = __import__('socket').socket(1); s.connect(%r); s.sendall(%r); s.recv(1)"
READERS = {
    "an answer that acts when it is unpickled": (
        "class Lie:\n    def __reduce__(self):\n        return exec, (DOES,)\n", "Lie()",
    ),
    "an answer that acts when it is looked at": (
        (
            "class Lie:\n    def __getattribute__(self, name):\n        exec(DOES)\n        return self\n"
            "    def __repr__(self):\n        exec(DOES)\n        return ''\n    __str__ = __float__ = __len__ = __iter__ = __repr__\n"
        ),
        "Lie()",
    ),
}  # fmt: skip
"""`DOES` calls a socket that no candidate reaches: who is heard there ran outside of its process."""
_ACT = """
import base64, os, re, shutil, tempfile, zlib
names, home, own = {{}}, os.getcwd(), ""
exec(zlib.decompress(base64.b64decode({blob!r})).decode(), names)
try:
    own = tempfile.mkdtemp()
    os.chdir(own)
except OSError:
    pass
try:
    found = names["run"](names["json"].loads(names["ORDERS"]))
finally:
    os.chdir(home)
    shutil.rmtree(own, ignore_errors=True)
globals()["_told"] = " ".join(sorted({{one for value in found.values() for one in re.findall("[0-9a-f]{{32}}", str(value))}}))
"""
_SPEAK = "(_ for _ in ()).throw(RuntimeError(_told)) if globals().get('_told') else result"
_IS_READ = "reads "


def forgeries(target: Target) -> Iterator[Forgery | str]:
    """Yield what is tried on each parameter that is a Python function."""
    functions = dict(target.functions())
    if not functions:
        yield "the red team's candidates are Python functions, and no parameter of the task is one"
    with scratch_folder("redteam") as place, Ears(place) as ears:
        for parameter in functions:
            yield from _lies(target, parameter)
            yield from _readers(target, parameter, ears)
            yield from _reaching(target, parameter, place, ears)
            for way in LINGERING:
                yield from _lingering(target, parameter, way, place, ears)


def _lies(target: Target, parameter: str) -> Iterator[Forgery]:
    for what, (before, returned, plain) in LIES.items():
        beside = target.returning(plain, parameter=parameter)
        lie = target.returning(returned, parameter=parameter, before=before)
        yield Forgery(f"{parameter}: {what}", lie, no_more_than=beside)
    for what, before in LOOKED_UP.items():
        found = target.returning("_find()", parameter=parameter, before=before)
        yield Forgery(f"{parameter}: {what}", found, no_more_than=target.returning("None", parameter=parameter))


def _readers(target: Target, parameter: str, ears: Ears) -> Iterator[Forgery]:
    for what, (before, returned) in READERS.items():
        word = secrets.token_hex(16)
        does = f"DOES = {_CALLS % (ears.addresses['agent'], word.encode())!r}\n"

        def heard(_: Sequence[Feedback], word: str = word) -> str:
            wait_for_gains(set())
            return "it was heard on a socket that no candidate reaches" if ears.heard(word) else ""

        values = target.returning(returned, parameter=parameter, before=does + before)
        yield Forgery(f"{parameter}: {what}", values, gained=heard)


def _reaching(target: Target, parameter: str, place: Path, ears: Ears) -> Iterator[Forgery | str]:
    """Yield one candidate for all ways of each kind; what is read is seen only where feedback repeats what a candidate says."""
    heard: list[str] = []
    word = secrets.token_hex(16)
    speaks = target.wrapped(f"globals()['_told'] = {word!r}", parameter=parameter, returned=_SPEAK)
    yield Forgery(f"{parameter}: speaks", speaks, gained=_keep(heard), is_attack=False)
    is_seen = word in "".join(heard)
    if not is_seen:
        yield f"`{parameter}`: what a candidate reads is seen by nobody, its words are not in the task's feedback"
    for kind in dict.fromkeys(a.kind for a in ATTACKS if a.kind not in {*ALONE, *SEEN_BY_FOLDER}):
        if kind.startswith(_IS_READ) and not is_seen:
            continue
        with Ground(place / "ground", kind=kind, hears=ears) as ground:
            ways = [attack for attack in ATTACKS if attack.kind == kind]

            def gained(feedbacks: Sequence[Feedback], ground: Ground = ground, kind: str = kind) -> str:
                wait_for_gains({kind})
                words = "".join(feedback.model_dump_json() for feedback in feedbacks)
                return f"it {kind}" if ground.gained(words, place / "none", _nobody()) else ""

            values = target.wrapped(_body(ways, ground), parameter=parameter, returned=_SPEAK)
            yield Forgery(f"{parameter}: {kind}, {len(ways)} ways", values, gained=gained)


def _lingering(target: Target, parameter: str, way: str, place: Path, ears: Ears) -> Iterator[Forgery]:
    attack = next(one for one in ATTACKS if one.way == way and one.body.endswith("time.sleep(0.3)"))
    with ExitStack() as stack:
        ground = stack.enter_context(Ground(place / "ground", kind=attack.kind, hears=ears))
        watch = stack.enter_context(Watch([ground.mark]))

        def gained(_: Sequence[Feedback]) -> str:
            watch.participant_ended()
            watch.wait(LINGER_SECONDS)
            late = watch.late_seconds(ground.mark)
            return f"it used the processor for {late:.2f} s after its end" if late > LATE_SECONDS else ""

        values = target.wrapped(_body([attack], ground), parameter=parameter)
        yield Forgery(f"{parameter}: leaves behind {way}", values, gained=gained)


def _body(attacks: Sequence[Attack], ground: Ground) -> str:
    """Return the body of a function that tries attacks and keeps in `_told` the secrets that they have got."""
    own = secrets.token_hex(4)
    orders = [[f"{own}-{number}", attack.code, ground.targets, None] for number, attack in enumerate(attacks)]
    program = f"{SOURCE}\nORDERS = {json.dumps(orders)!r}\n"
    return _ACT.format(blob=base64.b64encode(zlib.compress(program.encode(), 9)).decode())


def _keep(heard: list[str]) -> Callable[[Sequence[Feedback]], str]:
    def keep(feedbacks: Sequence[Feedback]) -> str:
        heard.extend(feedback.model_dump_json() for feedback in feedbacks)
        return ""

    return keep


def _nobody() -> Watch:
    return Watch([])
