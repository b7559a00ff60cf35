"""One job of many evaluations, its processor time and memory as ratios to a job of a tenth: `python benchmarks/long_job.py [N]`.

A job that reduces its events as it writes them costs as much for its last evaluation as for its first, and holds little more at its end.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from descendants import watch

COMMAND = Path(sys.executable).with_name("trace-bench")


def measure(evaluations: int, folder: Path) -> tuple[float, float, float]:
    """Return wall seconds, processor seconds and MB of a run of one job."""
    config = {
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "RandomSearch", "params": {"num_steps": evaluations}}],
        "budget": {"evaluations": evaluations},
        "mode": "stub",
        "job_timeout": 7200,
        "runs_dir": str(folder / str(evaluations)),
    }
    file = folder / f"{evaluations}.json"
    file.write_text(json.dumps(config))
    used = watch(str(COMMAND), "run", "--config", str(file))
    if used.code:
        raise SystemExit(f"the run of {evaluations:,} evaluations ended with {used.code}")
    (result,) = folder.glob(f"{evaluations}/*/jobs/*/results.json")
    made = json.loads(result.read_text())["used"]["evaluations"]
    if made < evaluations:
        raise SystemExit(f"the job made {made:,} of {evaluations:,} evaluations")
    return used.wall, used.cpu, used.megabytes


def main() -> None:
    """Measure a tenth, then all."""
    evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as temporary:
        small, large = (measure(n, Path(temporary)) for n in (evaluations // 10, evaluations))
    for n, (wall, cpu, memory) in ((evaluations // 10, small), (evaluations, large)):
        print(
            f"{n:>9,} evaluations: {1000 * wall / n:.3f} ms each by the clock, {1000 * cpu / n:.3f} ms of CPU, {memory:.0f} MB"
        )
    each = (large[1] / evaluations) / (small[1] / (evaluations // 10))
    print(
        f"CPU an evaluation {each:.2f}x, memory {large[2] / small[2]:.2f}x that of a tenth; "
        f"goals 0.2 ms ({'met' if large[0] / evaluations <= 0.0002 else 'not met'}),"
        f" 300 MB ({'met' if large[2] <= 300 else 'not met'})"
    )


if __name__ == "__main__":
    main()
