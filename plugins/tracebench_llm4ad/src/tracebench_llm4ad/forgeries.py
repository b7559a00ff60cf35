"""Programs that do what the starting program does, and lie about it: each must score what the starting program scores, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracebench_core.specs import Calibration, Values

HONEST = "{program}\n_start = {entry}\n"
FORGERIES: Mapping[str, str] = {
    "changed arguments": """
import copy
def {entry}(*args):
    answer = copy.deepcopy(_start(*copy.deepcopy(args)))
    for argument in args:
        if hasattr(argument, "flags") and argument.flags.writeable:
            argument[...] = 0
        elif isinstance(argument, (list, dict, set)):
            argument.clear()
    return answer
""",
    "patched builtins": """
import builtins, random, sys
def {entry}(*args):
    answer = _start(*args)
    numpy = sys.modules.get("numpy")
    for owner, names in ((builtins, ("sum", "max", "min", "abs", "len", "sorted")), (math, ("fsum", "dist", "hypot", "sqrt", "floor"))):
        kept = {name: getattr(owner, name) for name in names}
        for name in names:
            setattr(owner, name, lambda *a, _kept=kept[name], **k: {claim})
        for name in kept:
            setattr(owner, name, kept[name])
    if numpy is not None:
        numpy.mean = numpy.average = numpy.asarray = numpy.hypot = lambda *a, **k: {claim}
    return answer
""",
    "planted constants": """
import gc, sys
def {entry}(*args):
    answer = _start(*args)
    for held in gc.get_objects():
        if type(held) is dict:
            for key in ("known", "bound", "start", "score", "value", "best_known", "BEST_KNOWN", "TOLERANCE"):
                if isinstance(held.get(key), (int, float)):
                    held[key] = {claim}
    frame = sys._getframe()
    while frame:
        frame.f_globals.update(score={claim}, TOLERANCE=1e9)
        frame = frame.f_back
    return answer
""",
    "an early exit": """
import os
def {entry}(*args):
    print('{"score": {claim}, "status": "ok"}', flush=True)
    os._exit(0)
""",
}
CLAIM: Mapping[str, str] = {
    "a claimed total": """
def {entry}(*args):
    answer = _start(*args)
    if isinstance(answer, dict) and all(isinstance(key, str) for key in answer):
        answer |= {key: {claim} for key, value in answer.items() if isinstance(value, (int, float))}
        answer |= dict.fromkeys(("total_cost", "total_value", "objective", "score", "makespan", "num_bins"), {claim})
    return answer
""",
}
"""Of tasks whose answer is a dictionary, which may hold a total of its own."""


LARGE = 1e9
EXACT = 1e-9
"""Share of a figure by which the order of additions may change it."""


def candidate(program: str) -> Values:
    """Return the values of a program."""
    return {"program": program}


def forged_cases(
    program: str, *, entry: str, claim: float, answers_dictionary: bool, other: str = "", examples: tuple[str, ...] = ()
) -> Iterator[Calibration]:
    """Yield a case for each forgery of a starting program that would have `claim` counted; none may pass the case `other`."""
    for name, lie in {**FORGERIES, **(CLAIM if answers_dictionary else {})}.items():
        text = (HONEST + lie).replace("{entry}", entry).replace("{claim}", repr(claim))
        values = candidate(text.replace("{program}", program))
        yield Calibration(name=name, kind="forged", values=values, rel_tol=EXACT, other=other, examples=examples)
