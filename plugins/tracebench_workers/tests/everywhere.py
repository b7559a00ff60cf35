"""One matrix by every executor, and whether its leaderboards are equal: local, two workers by hand (files shared, streamed), Slurm, Ray.

    python -m plugins.tracebench_workers.tests.everywhere [WORD…]

Words choose places by a part of their name. Slurm is Debian's, with two nodes that are both this machine, and needs root; Ray
is one of this machine's own. What is not here is told, and not tried. Exits 1 where a leaderboard differs from that of the local
executor, and 3 where something was not tried.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from plugins.tracebench_slurm.tests.cluster import Cluster, lacks
from plugins.tracebench_workers.tests.world import World

PATIENCE = 1200
BY_HAND = ("executor=workers", "plugins.options.workers.listen=127.0.0.1:0", "plugins.options.workers.ticket=ticket")
Places = Iterator[tuple[str, tuple[str, ...], dict[str, str], str]]


def places(stack: ExitStack) -> Places:
    """Yield where to run: its name, the options of it, its environment, and why it cannot be."""
    yield "local", ("executor=local",), {}, ""
    for files in ("shared", "streamed"):
        yield f"two workers by hand, files {files}", (*BY_HAND, f"plugins.options.workers.files={files}"), {}, ""
    environ: dict[str, str] = {}
    if not (why := lacks()):
        cluster = Cluster(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-"))))
        stack.callback(cluster.close)
        cluster.start()
        environ = {name: cluster.environ[name] for name in ("SLURM_CONF", "PATH")}
    yield "Slurm, an array of two", ("executor=slurm", "plugins.options.slurm.listen=127.0.0.1:0"), environ, why
    why = "" if find_spec("ray") else "no Ray: pip install 'tracebench-ray[ray]'"
    short = stack.enter_context(tempfile.TemporaryDirectory(prefix="r-", dir="/tmp", ignore_cleanup_errors=True))
    yield "Ray, two actors", ("executor=ray", "plugins.options.ray.processors=2"), {"TMPDIR": short}, why


def leaderboard(place: str, options: tuple[str, ...], environ: dict[str, str]) -> list[dict[str, str]]:
    """Run the matrix there."""
    with tempfile.TemporaryDirectory(prefix="everywhere-") as folder:
        world = World(Path(folder), environ=environ)
        try:
            run = world.start(
                "run", "--config", "models.yaml", *(word for o in options for word in ("-o", o)), "-o", "run_id=r"
            )
            if "by hand" in place:
                for name in ("one", "two"):
                    world.worker(name)
            told, _ = run.communicate(timeout=PATIENCE)
            if run.returncode != 0:
                raise SystemExit(f"{place}: exit {run.returncode}\n{told}")
            if (checked := world.asked("fsck", "runs/r")).returncode != 0:
                raise SystemExit(f"{place}: its files are not sound\n{checked.stdout}")
            return world.leaderboard("r")
        finally:
            world.close()


def main() -> int:
    """Run everywhere."""
    first: list[dict[str, str]] = []
    code = 0
    with ExitStack() as stack:
        for place, options, environ, why in places(stack):
            if sys.argv[1:] and first and not any(word in place for word in sys.argv[1:]):
                continue
            if why:
                print(f"{place}: not tried, {why}", flush=True)
                code = code or 3
                continue
            began = time.monotonic()
            found = leaderboard(place, options, environ)
            first = first or found
            code = code if found == first else 1
            words = "equal" if found == first else "DIFFERS"
            print(f"{place}: {len(found)} rows, {words}, {time.monotonic() - began:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
