"""`python -m tracebench_kernelbench.server.worker`: judges one order after another, a line of JSON each, on its standard streams.

A candidate runs in the sandbox, two processes farther on, and has no way to these streams.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import TraceBenchError
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_sandbox import open_sandbox


def main() -> None:
    """Answer orders until standard input ends."""
    with open_sandbox() as sandbox:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(_answer(json.loads(line), sandbox)) + "\n")
            sys.stdout.flush()


def _answer(order: dict[str, Any], sandbox: Any) -> dict[str, Any]:
    try:
        verdict = judge(PROBLEMS[order["problem"]], order["source"], sandbox, Effort(**order["effort"]))
    except (NotMeasured, TraceBenchError) as err:
        return {"error": str(err)}
    return {"verdict": asdict(verdict)}


if __name__ == "__main__":
    main()
