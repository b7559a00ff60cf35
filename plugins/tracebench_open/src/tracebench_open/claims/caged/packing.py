"""Runs in the cage: a published program that packs circles, once: a function of it, or else what it leaves as `centers` and `radii`.

Prints centres and radii as the hexadecimal digits of their doubles.
"""

import json
import random
import sys
import types
from pathlib import Path

import numpy as np
import scipy

seed, function, *given = sys.argv[1:]
random.seed(int(seed))
np.random.seed(int(seed))
program = types.ModuleType("program")
sys.modules["program"] = program
exec(compile(Path("program.py").read_text(encoding="utf-8"), "program.py", "exec"), program.__dict__)
found = getattr(program, function)(*map(json.loads, given)) if function else (program.centers, program.radii)
circles = found["circles"] if isinstance(found, dict) else np.column_stack([found[0], found[1]])
print()
print(
    json.dumps(
        {
            "circles": [[float(x).hex() for x in circle] for circle in np.asarray(circles, dtype=float)],
            "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
        }
    )
)
