"""`python -m tracebench_veribench recheck`: has the second kernel check Coq's own library, as far as a reference proof loads it.

Evaluations check the given definitions, the candidate and the answers with both kernels, and take the library as it is installed. This
checks the library itself, once per installation: half a minute of processor time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tracebench_core.errors import typed
from tracebench_veribench.coq.audit import assumes_nothing, confirms
from tracebench_veribench.coq.catalog import ENTRIES
from tracebench_veribench.coq.problem import load_problem
from tracebench_veribench.coq.script import write_opening

_REQUIRED = re.compile(r"From\s+Coq\s+Require\s+(?:Import\s+|Export\s+)?((?:[\w.]*\w\s+)*[\w.]*\w)\.(?=\s|\Z)")
SECONDS = 900


def required() -> tuple[str, ...]:
    """Return the modules of the library that the judge and the reference proofs name, in order."""
    problems = [load_problem(entry.name) for entry in ENTRIES]
    texts = [text for problem in problems for text in (problem.gold, problem.given, write_opening(problem))]
    return tuple(sorted({name for text in texts for names in _REQUIRED.findall(text) for name in names.split()}))


def recheck() -> int:
    """Check the library and print what was found; returns the exit code."""
    if missing := [name for name in ("coqc", "coqchk") if shutil.which(name) is None]:
        sys.stderr.write(typed(f"`{missing[0]}` is not on PATH\nhint: apt-get install coq\n"))
        return 3
    names = required()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "All.v").write_text("".join(f"From Coq Require {name}.\n" for name in names))
        _run("coqc", "-q", "-R", ".", "", "All.v", folder=folder)
        said = _run("coqchk", "-silent", "-o", "All", "-R", ".", "", folder=folder)
    sys.stdout.write(
        f"{len(names)} modules are named ({', '.join(names)}).\n"
        f"coqchk {'accepts them and all that they load' if confirms(said) else 'refuses them'}, "
        f"in {time.monotonic() - began:.0f} s; "
        f"{'nothing is assumed' if assumes_nothing(said) else 'something is assumed'}.\n"
    )
    if confirms(said) and assumes_nothing(said):
        return 0
    sys.stderr.write(said[-2000:] + "\n")
    return 1


def _run(*command: str, folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)  # noqa: S603
    return done.stdout + done.stderr
