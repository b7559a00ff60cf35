"""Print what the suite kernelbench measures: its problems, its noise, and an optimisation against a local server that knows three kernels.

    python benchmarks/kernelbench.py problems [--only softmax]   the plain kernels against themselves
    python benchmarks/kernelbench.py hand                        hand-written kernels against the plain ones
    python benchmarks/kernelbench.py noise --times 100           a kernel against itself: how far from 1 the raw ratio is
    python benchmarks/kernelbench.py large --times 10            a module of 340 MB against itself, in small pages and in huge ones
    python benchmarks/kernelbench.py warm                        a module and a Numba kernel: seconds beyond the kernels' own (needs both)
    python benchmarks/kernelbench.py optimise                    PrioritySearch and KeepBest, real mode, a rule-based server

The server of the last knows rules and is no language model: it shows that the suite leads from slow kernels to fast ones, not how well a
model writes them.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tracebench_core.contracts import Sandbox, Session
from tracebench_core.specs import Outcome
from tracebench_engine import api
from tracebench_kernelbench.building import build_kernel
from tracebench_kernelbench.driving import drive
from tracebench_kernelbench.judging import judge
from tracebench_kernelbench.modules.backends import NUMBA, TORCH, loaded_beforehand
from tracebench_kernelbench.modules.exercise import Exercise, ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.timing import compare_afresh
from tracebench_sandbox import open_sandbox
from tracebench_testing.fake_openai import FakeOpenAI

FAST_MATH = '#pragma GCC optimize("fast-math")\n'
MATMUL = (
    """enum { N = 128 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < N; i++) {
    float row[N] = {0};
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++) row[j] += a[i * N + k] * b[k * N + j];
    for (int j = 0; j < N; j++) out[i * N + j] = row[j];
  }
}
""",
    """enum { N = 128, ROWS = 4 };

void kernel(const float* a, const float* b, float* out) {
  for (int i = 0; i < N; i += ROWS) {
    float rows[ROWS][N] = {{0}};
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        for (int r = 0; r < ROWS; r++) rows[r][j] += a[(i + r) * N + k] * b[k * N + j];
    for (int r = 0; r < ROWS; r++)
      for (int j = 0; j < N; j++) out[(i + r) * N + j] = rows[r][j];
  }
}
""",
)
"""Better and better kernels for `matmul`: rows of b in order, and four rows of the result at a time."""
HAND = {
    "matmul": MATMUL[-1],
    **{
        name: FAST_MATH + PROBLEMS[name].source
        for name in ("matvec", "row_sums", "matmul_transposed", "gelu", "softmax")
    },
    "moving_average": """enum { ROWS = 32, N = 1086, SPAN = 63, OUT = 1024 };

void kernel(const float* x, float* out) {
  for (int i = 0; i < ROWS; i++) {
    double sum = 0;
    for (int k = 0; k < SPAN; k++) sum += x[i * N + k];
    for (int j = 0; j < OUT; j++) {
      out[i * OUT + j] = (float)(sum / SPAN);
      if (j + 1 < OUT) sum += x[i * N + j + SPAN] - x[i * N + j];
    }
  }
}
""",
}


MODULE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)

    def forward(self, x):
        return torch.tanh(self.linear(x))

def get_inputs():
    return [torch.randn(64, 96)]

def get_init_inputs():
    return [96]
"""
LARGE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(n, n) for _ in range(4)])

    def forward(self, x):
        return self.layers(x)

def get_inputs():
    return [torch.rand(8, 4608)]

def get_init_inputs():
    return [4608]
"""
LOOPS = """
import numba

@numba.njit
def work(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i].sum()

def kernel(x, out):
    work(x, out)
"""


CONFIG = """
mode: real
budget: {{evaluations: 8}}
llm: {{provider: openai, model: rules, base_url: "{url}", api_key_env: FAKE_KEY, prices: {{rules: {{prompt: 1.0, completion: 1.0}}}}}}
tasks: [{{id: "kernelbench:own/matmul", eval_kwargs: {{server: run}}}}]
trainers: [{{id: PrioritySearch}}, {{id: KeepBest, params_variants: [{{num_steps: 4}}]}}]
"""


def line(name: str, source: str, sandbox: Sandbox) -> str:
    """Return one row of a table."""
    began = time.perf_counter()
    verdict = judge(PROBLEMS[name], source, sandbox, Effort())
    took = time.perf_counter() - began
    if not verdict.correct:
        return f"| `{name}` | {verdict.text.splitlines()[0]} |"
    m = verdict.metrics
    return (
        f"| `{name}` | {m['reference_ms']:.3f} | {m['speedup_raw']:.3f} | {100 * m['noise']:.1f} % | {m['speedup']:.2f} | "
        f"{100 * m['roofline']:.0f} % | {took:.2f} |"
    )


def table(sources: dict[str, str], sandbox: Sandbox) -> None:
    """Judge sources and print a row for each."""
    print("| problem | reference, ms | ratio | noise | counts as | of the roofline | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, source in sources.items():
        print(line(name, source, sandbox), flush=True)


def noise(times: int, sandbox: Sandbox) -> None:
    """Judge plain kernels against themselves, by turns, and print how the raw ratio is spread."""
    names = list(PROBLEMS)
    built = {name: build_kernel(sandbox, PROBLEMS[name].source, PROBLEMS[name].signature).binary for name in names}
    raw, counted = [], 0
    for index in range(times):
        name = names[index % len(names)]
        record = drive(sandbox, PROBLEMS[name], built[name], Effort())
        timing = compare_afresh(record.spent)
        raw.append(timing.raw)
        counted += timing.score == 1.0
    within = sum(0.95 <= ratio <= 1.05 for ratio in raw)
    cuts = quantiles(raw, n=20)
    print(
        f"raw ratio of a kernel to itself, {times} evaluations: median {median(raw):.4f}, 5 % {cuts[0]:.4f}, 95 % {cuts[-1]:.4f}"
    )
    print(f"within [0.95, 1.05]: {within} of {times}; counted as 1: {counted} of {times}")


class SmallPages(ModuleExercise):
    """A module whose memory stays as each process happened to get it, page by page."""

    def settle(self, session: Session) -> Outcome:
        """Leave it."""
        return Outcome(status="ok", value=(1 << 30, 0))


def large(times: int) -> None:
    """Judge a module that does little but read its weights against itself; print how the ratio is spread, and what noise is told."""
    with open_sandbox(preload=loaded_beforehand([TORCH])) as sandbox:
        kinds: dict[str, type[ModuleExercise]] = {"small": SmallPages, "huge": ModuleExercise}
        print(
            "| pages | times | ratio, from | to | median | from 1, root mean square | a call, ms | noise, at most | load |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for name, kind in kinds.items():
            told = [judge_python(kind(LARGE, TORCH), renamed(LARGE), sandbox, Effort()).metrics for _ in range(times)]
            raw = sorted(m["speedup_raw"] for m in told)
            spread = math.sqrt(sum(math.log(ratio) ** 2 for ratio in raw) / times)
            took, noise = median(m["reference_ms"] for m in told), max(m["noise"] for m in told)
            row = f"| {name} | {times} | {raw[0]:.3f} | {raw[-1]:.3f} | {median(raw):.3f} | {100 * spread:.1f} % | {took:.1f} "
            print(f"{row}| {100 * noise:.1f} % | {os.getloadavg()[0]:.0f} |", flush=True)


def warm() -> None:
    """Judge a module and a Numba kernel six times each; print the last five's median seconds beyond the calls of both kernels."""
    effort = Effort(least=20, most=20)
    cases: dict[str, tuple[Exercise, str]] = {
        "PyTorch, a linear layer": (ModuleExercise(MODULE, TORCH), renamed(MODULE)),
        "Numba, row_sums": (OwnExercise(PROBLEMS["row_sums"]), LOOPS),
    }
    with open_sandbox(preload=loaded_beforehand([TORCH, NUMBA])) as sandbox:
        for name, (exercise, source) in cases.items():
            beyond = []
            for _ in range(6):
                began = time.perf_counter()
                m = judge_python(exercise, source, sandbox, effort).metrics
                took = time.perf_counter() - began
                beyond.append(took - (effort.warm + effort.least) * (m["reference_ms"] + m["candidate_ms"]) / 1000)
            print(
                f"{name}: {median(beyond[1:]):.2f} s beyond the kernels' own time (goal 0.5); the first {beyond[0]:.2f} s"
            )


def optimise() -> None:
    """Run two trainers on `matmul` against a server that hands out a better kernel each time it is asked."""
    asked = 0

    def reply(_messages: list[dict[str, Any]]) -> str:
        nonlocal asked
        asked += 1
        return f"```c\n{(FAST_MATH + PROBLEMS['matmul'].source, *MATMUL)[(asked - 1) % 3]}```"

    os.environ["FAKE_KEY"] = "sk-fake-0123456789"
    with FakeOpenAI(reply=reply) as server, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.yaml")
        path.write_text(CONFIG.format(url=server.base_url))
        config = api.load_config(path, overrides=[f"runs_dir={folder}/runs"])
        summary = api.run(config, stream=io.StringIO())
        for job, result in api.load_run(summary.run_dir).results.items():
            first, last = result.score_test_initial, result.score_test
            print(f"{job}: {result.status}, speed-up on the test: initial kernel {first}, best kernel {last}")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("problems", "hand", "noise", "large", "warm", "optimise"))
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--times", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.what in {"large", "warm", "optimise"}:
        {"large": lambda: large(arguments.times), "warm": warm, "optimise": optimise}[arguments.what]()
        return
    with open_sandbox() as sandbox:
        sources = {name: problem.source for name, problem in PROBLEMS.items()} if arguments.what == "problems" else HAND
        chosen = {name: source for name, source in sources.items() if arguments.only in name}
        actions: dict[str, Callable[[], None]] = {"noise": lambda: noise(arguments.times, sandbox)}
        actions.get(arguments.what, lambda: table(chosen, sandbox))()


if __name__ == "__main__":
    main()
