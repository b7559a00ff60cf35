"""`python -m tracebench_local WEIGHTS PORT SLOTS CONTEXT`: serve a GGUF file until the input ends."""

from __future__ import annotations

import os
import sys

import xllamacpp


def main() -> None:
    """Serve until whoever started us closes our input, or is gone."""
    weights, port, slots, context = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.port = int(port)
    params.n_parallel = int(slots)
    params.n_ctx = int(slots) * int(context)
    params.cpuparams.n_threads = max(
        1, (os.cpu_count() or 1) // 2
    )  # its threads spin: as many as cores starve the jobs
    server = xllamacpp.Server(params)
    sys.stdin.buffer.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main()
