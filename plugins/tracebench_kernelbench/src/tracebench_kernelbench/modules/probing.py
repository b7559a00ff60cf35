"""Finds problems that measure nothing at the sizes of the profile `cpu`: each is judged against itself, on this machine.

`python -m tracebench_kernelbench.modules.probing CHECKOUT < sizes.json > probed.json` adds to the rows of `shrinking`'s table why a problem
is not to be listed as available: its output does not depend on its inputs, it fails, or it is too quick to be timed; and where half
precision cannot be told from single, that (`half`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_kernelbench.modules.backends import TORCH, loaded_beforehand
from tracebench_kernelbench.modules.constants import rewrite_constants
from tracebench_kernelbench.modules.exercise import ModuleExercise
from tracebench_kernelbench.modules.source import CONSTANT, find_problems
from tracebench_kernelbench.modules.stepping import ConstantOutput, TooShort, judge_python, tells_half
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_sandbox import open_sandbox

_WEIGHTS = 3


def probe(code: str, sandbox: Sandbox) -> dict[str, Any]:
    """Judge a problem's own module; return its ratio to itself with the noise, or why there is none."""
    try:
        verdict = judge_python(ModuleExercise(code, TORCH), renamed(code), sandbox, Effort())
    except ConstantOutput:
        return {"refused": CONSTANT}
    except TooShort:
        return {"refused": "a call is too short to be timed"}
    except NotMeasured as err:
        return {"refused": str(err)}
    if not verdict.correct:
        return {"refused": "two calls on the same inputs differ"}
    metrics = verdict.metrics
    told = {} if _tells_half(code, sandbox) else {"half": False}
    return {"ratio": metrics["speedup_raw"], "noise": metrics["noise"], "ms": metrics["reference_ms"], **told}


def _tells_half(code: str, sandbox: Sandbox) -> bool:
    """Tell whether half precision is refused whatever the weights: as far as some of them show."""
    return all(tells_half(ModuleExercise(code, TORCH), sandbox) for _ in range(_WEIGHTS))


def main() -> None:
    """Print the table with what was found in it, a line per problem; the ratios go to standard error."""
    rows = json.load(sys.stdin)
    problems = {(problem.level, problem.number): problem for problem in find_problems(Path(sys.argv[1]))}
    with open_sandbox(preload=loaded_beforehand([TORCH])) as sandbox:
        for row in rows:
            row.pop("refused", None), row.pop("half", None)
            found = probe(rewrite_constants(problems[row["level"], row["id"]].read(), row["constants"]), sandbox)
            print(row["level"], row["id"], found, file=sys.stderr, flush=True)  # noqa: T201
            row.update({name: value for name, value in found.items() if name in {"refused", "half"}})
    print("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]")  # noqa: T201


if __name__ == "__main__":
    main()
