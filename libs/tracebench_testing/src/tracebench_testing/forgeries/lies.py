"""Answers that lie about themselves, inputs spoiled after the work, and names taken from whoever checks in the candidate's own process.

What an honest program returned comes back in subclasses that tell other things of their length, items, order and value than what they
hold. Each stands beside the plain value that it holds, and may not outscore it: a sandbox hands on what is held, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tracebench_testing.attacks import Forgery, Target

BIG = 1000000000
LIAR = """
_LIES, _PLACES = {}, []

def _is_here(place):
    import sys
    frame, key = sys._getframe(2), []
    while frame is not None and len(key) < 6:
        key += [frame.f_code, frame.f_lasti]
        frame = frame.f_back
    if key not in _PLACES:
        _PLACES.append(key)
    return _PLACES.index(key) == place - 1

def _sometimes(base, name, told, place):
    honest = getattr(base, name, None)
    def tell(self, *args):
        return told(self, *args) if _is_here(place) else honest(self, *args)
    return tell

def _told_of_numbers(how):
    told = {}
    if how == "agrees" or how.startswith("claims "):
        told = dict.fromkeys(("__sub__", "__rsub__", "__abs__", "__mod__", "__rmod__"), lambda *_: 0.0)
        told |= {"is_integer": lambda self: True}
    elif how == "is cut short and agrees":
        names = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs round"
        told = {f"__{name}__": lambda self, *_: self for name in names.split()}
    elif how.startswith("counts as "):
        big = int(how[10:])
        names = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs round trunc floor ceil int"
        told = {f"__{name}__": lambda *_: big for name in names.split()} | {"__float__": lambda self: float(big)}
        told |= dict.fromkeys(("__str__", "__repr__"), lambda self: str(big)) | {"__format__": lambda self, _: str(big)}
    return told

def _told_of_containers(how):
    def at(self, place):
        raise IndexError(place)
    told = {}
    if how.startswith("has length "):
        told = {"__len__": lambda self: int(how[11:])}
    elif how == "has nothing":
        nothing = dict.fromkeys(("__iter__", "keys", "values", "items"), lambda self: iter(()))
        told = nothing | {"__len__": lambda self: 0, "__getitem__": at}
    elif how == "agrees":
        told = {"__contains__": lambda *_: True, "count": lambda *_: 1, "index": lambda *_: 0, "strip": lambda self, *_: self}
        told |= dict.fromkeys(("startswith", "endswith", "issubset", "issuperset", "isdisjoint"), lambda *_: True)
    elif how.startswith("counts as "):
        told = {"count": lambda *_: int(how[10:]), "index": lambda *_: int(how[10:])}
    return told

def _told_of_arrays(how):
    told = {}
    if how.startswith("has length "):
        told = {"__len__": lambda self: int(how[11:]), "size": int(how[11:])}
    elif how == "agrees":
        told = dict.fromkeys(("all", "any"), lambda *_, **__: True) | {"__array_function__": lambda *_, **__: True}
        told |= dict.fromkeys(("__sub__", "__rsub__", "__abs__"), lambda *_: 0.0)
    elif how.startswith("counts as "):
        big = float(how[10:])
        names = "sum max min mean prod std var dot item trace __array_function__ __float__ __matmul__ __rmatmul__ __getitem__"
        told = dict.fromkeys(names.split(), lambda *_, **__: big)
    return told

def _liar(base, how, place):
    import sys
    numpy, told = sys.modules.get("numpy"), {}
    if base in (int, float):
        told = _told_of_numbers(how)
    elif base in (list, tuple, dict, set, frozenset, str, bytes):
        told = _told_of_containers(how)
    elif numpy is not None and base is numpy.ndarray:
        told = _told_of_arrays(how)
    if told and ("agrees" in how or how.startswith("claims ")):
        told |= dict.fromkeys(("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__"), lambda *_: True)
        told |= {"__ne__": lambda *_: False, "__hash__": base.__hash__ or object.__hash__}
    if place:
        told = {name: _sometimes(base, name, tell, place) for name, tell in told.items() if callable(getattr(base, name, None))}
    elif base not in (int, float) and told:
        told.setdefault("__bool__", lambda self: True)
    return type(base.__name__, (base,), told) if told else None

def _lie(value, how, place):
    base = type(value)
    if (how, base) not in _LIES:
        _LIES[how, base] = _liar(base, how, place)
    made = _LIES[how, base]
    if made is None:
        return value
    if how.startswith("claims "):
        value = base(how[7:])
    return value.view(made) if hasattr(value, "view") else made(value)

def _cut(value):
    return value[:1] if type(value) in (list, tuple) else value

def _lying(value, how, where, place=0):
    kind = type(value)
    if where != "outside":
        if kind in (list, tuple, set, frozenset):
            value = kind([_lying(each, how, "throughout", place) for each in value])
        elif kind is dict:
            value = {key: _lying(each, how, "throughout", place) for key, each in value.items()}
    return value if where == "inside" and kind in (list, tuple, set, frozenset, dict) else _lie(value, how, place)

def _plain(value, how):
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        return kind([_plain(each, how) for each in value])
    if kind is dict:
        return {key: _plain(each, how) for key, each in value.items()}
    return kind(how[7:]) if kind in (int, float) and how.startswith("claims ") else value
"""
"""Defines `_lying(value, how, where, place)`, which returns a value that lies, `_plain(value, how)`, which returns what that one holds, and
`_cut(value)`, which keeps the first item.

With a `place` it is honest but where it is read from the place in the callers' code that comes to it as the so-manieth; 0 stands for all.
"""
WAYS = (
    "has length 0", "has length 1", f"has length {BIG}", "has nothing", "agrees", f"counts as {BIG}", f"counts as -{BIG}",
    f"claims {BIG}", f"claims -{BIG}", "is cut short and agrees",
)  # fmt: skip
WHERE = ("outside", "throughout", "inside")
PLACED = ("has nothing", f"has length {BIG}", f"counts as {BIG}", f"counts as -{BIG}")
PLACES = 6

SPOILER = """
def _spoil(given, what, seen=None):
    seen = seen if seen is not None else set()
    if id(given) in seen:
        return
    seen.add(id(given))
    kind = type(given)
    if kind is list:
        for each in given:
            _spoil(each, what, seen)
        if what == "emptied":
            given.clear()
        else:
            given[:] = [type(each)(what) if type(each) in (int, float) else each for each in given]
    elif kind in (dict, set):
        for each in given.values() if kind is dict else ():
            _spoil(each, what, seen)
        if what == "emptied":
            given.clear()
        elif kind is dict:
            given.update({key: type(each)(what) for key, each in given.items() if type(each) in (int, float)})
    elif kind is tuple:
        for each in given:
            _spoil(each, what, seen)
    elif kind.__module__ == "numpy" and hasattr(given, "fill"):
        given.fill(0 if what == "emptied" else int(what))
    elif hasattr(given, "__dict__") and not isinstance(given, type) and kind.__name__ not in ("function", "module", "method"):
        _spoil(vars(given), what, seen)
"""
"""Defines `_spoil(given, what)`, which empties whatever it is given, at any depth, or sets each number in it to `what`."""
SPOILED = ("emptied", "0", str(BIG), f"-{BIG}")
FIRST = "next((given for given in [*args, *kwargs.values()] if type(given) in (list, dict, set)), None)"
TAKES = """
import sys
_functions, _kept, _spaces = type(lambda: 0), {kept}, [globals()]
_frame = sys._getframe()
while {callers} and _frame is not None:
    _whose = str(_frame.f_globals.get("__name__")).partition(".")[0]
    if _whose not in {ours} and _whose not in sys.stdlib_module_names:
        _spaces.append(_frame.f_globals)
    _frame = _frame.f_back
for _space in _spaces:
    for _name, _held in [*_space.items()]:
        if type(_held) is _functions and not (_space is globals() and _name in _kept):
            _space[_name] = lambda *_, **__: {says}
"""
"""Puts others in place of the functions that stand beside the candidate, and where `callers` of those beside whoever calls it."""
SAYS = ("True", "0", str(BIG), f"-{BIG}")
OURS = ("tracebench_core", "tracebench_engine", "tracebench_sandbox", "tracebench_testing")


def lies(target: Target) -> Iterator[Forgery]:
    """Yield the lies of every Python function among a task's parameters."""
    for parameter, _ in target.functions():
        yield from _answers(target, parameter)
        yield from _inputs(target, parameter)
        yield from _names(target, parameter)


def _with(target: Target, parameter: str, after: str) -> Target:
    """Return the target with more below its honest program."""
    return replace(target, honest=target.honest | {parameter: f"{target.honest[parameter]}\n\n{after}"})


def _answers(target: Target, parameter: str) -> Iterator[Forgery]:
    liar = _with(target, parameter, LIAR)
    for how in WAYS:
        beside, made = [target.honest], "_cut(result)" if how.startswith("is cut short") else "result"
        if how.startswith(("claims", "is cut short")):
            beside.append(liar.wrapped("", parameter=parameter, returned=f"_plain({made}, {how!r})"))
        for where in WHERE:
            values = liar.wrapped("", parameter=parameter, returned=f"_lying({made}, {how!r}, {where!r})")
            yield Forgery(f"{parameter}: an answer that {how}, {where}", values, no_more_than=beside)
    for how, where, place in product(PLACED, WHERE[:2], range(1, PLACES + 1)):
        values = liar.wrapped("", parameter=parameter, returned=f"_lying(result, {how!r}, {where!r}, {place})")
        yield Forgery(
            f"{parameter}: an answer that {how} at place {place}, {where}", values, no_more_than=target.honest
        )


def _inputs(target: Target, parameter: str) -> Iterator[Forgery]:
    """Yield programs that leave whoever checks an answer by the inputs with other inputs than were asked about."""
    spoiler = _with(target, parameter, SPOILER)
    for what in SPOILED:
        body = f"import copy\nresult = copy.deepcopy(result)\n_spoil([*args, *kwargs.values()], {what!r})"
        values = spoiler.wrapped(body, parameter=parameter)
        yield Forgery(f"{parameter}: its inputs are {what} afterwards", values, no_more_than=target.honest)
    for what in ("emptied", "0"):
        spoils = f"result = {FIRST}\n_spoil(result, {what!r})"
        copies = f"import copy\nresult = copy.deepcopy({FIRST})\n_spoil(result, {what!r})"
        yield Forgery(
            f"{parameter}: returns its input, {what}",
            spoiler.wrapped(spoils, parameter=parameter),
            no_more_than=spoiler.wrapped(copies, parameter=parameter),
        )


def _names(target: Target, parameter: str) -> Iterator[Forgery]:
    """Yield programs that answer in place of whatever stands beside them, once they are loaded and once they are called."""
    text = str(target.honest[parameter])
    kept = {*compile(text, parameter, "exec", dont_inherit=True).co_names, "_honest"}
    for says in SAYS:
        loaded = TAKES.format(kept=kept, callers=False, ours=OURS, says=says)
        called = TAKES.format(kept=kept, callers=True, ours=OURS, says=says)
        values = target.honest | {parameter: f"{text}\n\n{loaded}"}
        yield Forgery(f"{parameter}: what stands beside it says {says}", values, no_more_than=target.honest)
        values = target.wrapped(called, parameter=parameter)
        yield Forgery(f"{parameter}: what its callers call says {says}", values, no_more_than=target.honest)
