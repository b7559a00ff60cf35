"""Do instructions matter on `hf:small`? `python benchmarks/small_tasks.py [TASK…] [--rows N]`.

Ten instructions a task answer all its rows on the real SmolLM2-135M of `tracebench_local`, at temperature 0. The spread between
instructions is a variance component: the variance of the ten means less the mean squared standard error of one of them, which rows
bring in. Its interval comes from 2,000 resamples of the rows. The ratio is that spread over the standard error of one instruction.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import fmean, variance
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

os.environ["TRACEBENCH_HF_SOURCE"] = "sample"

from tracebench_core.specs import Completion, Example, Usage
from tracebench_hfqa.task import build
from tracebench_local.server import LlamaServer

SLOTS = 8
MOST_TOKENS = {"short_facts": 16, "extraction": 16, "classification": 4, "format_following": 32}
EVERYWHERE = (
    "Answer the question.",
    "Think step by step.",
    "You are a helpful assistant.",
    "Explain your answer in detail.",
)
INSTRUCTIONS = {
    "short_facts": (
        "Answer with one word.", "Give only the answer.", "Answer in one short sentence.", "Name it. No sentence.",
        "Reply with a single word or number and nothing else.", "Answer with a numbered list.",
    ),
    "extraction": (
        "Reply with one word.", "Copy the answer from the text.", "Give only the answer.", "Summarize the text.",
        "Give only the name, year, city or job that is asked for.", "Answer with a numbered list.",
    ),
    "classification": (
        "Is the text positive or negative? Reply with one word.", "Say what the writer feels.",
        "Reply with one word: positive or negative.",
        "Classify the sentiment of the text as positive or negative. Answer with one word only: positive or negative.",
        "Sentiment: positive or negative?", "Label the text as positive or negative.",
    ),
    "format_following": (
        "Answer with a numbered list.", "Use a numbered list.", "Separate the items by commas.", "List them.",
        "Answer with a numbered list of three items and nothing else.", "Answer with one word.",
    ),
}  # fmt: skip


class Asker:
    """Stands for an evaluation's context: asks the server, keeps nothing."""

    def __init__(self, url: str, max_tokens: int) -> None:
        self._address, self._max_tokens = urlsplit(url), max_tokens

    def complete(self, messages: Sequence[dict[str, Any]], **_: Any) -> list[Completion]:
        """Ask once."""
        connection = HTTPConnection(self._address.hostname or "", self._address.port, timeout=600)
        body = {"messages": list(messages), "temperature": 0, "max_tokens": self._max_tokens, "seed": 1}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return [Completion(text=answer["choices"][0]["message"]["content"] or "", model="smollm2-135m", usage=Usage())]

    def record(self, _name: str, _data: object) -> None:
        """Keep nothing."""


def components(scores: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the standard deviation between instructions, and the standard error of one instruction's mean over its rows."""
    error = fmean(variance(row) / len(row) for row in scores)
    return math.sqrt(max(0.0, variance([fmean(row) for row in scores]) - error)), math.sqrt(error)


def measure(name: str, url: str, rows: int | None) -> None:
    """Print one task's table."""
    task = build("small", name, num_train=1000, num_validate=0, num_test=0)
    examples: Sequence[Example] = task.splits["train"][:rows]
    context: Any = Asker(url, MOST_TOKENS[name])
    started, scores = time.perf_counter(), []
    print(f"\n{name}, {len(examples)} rows")
    for text in (*EVERYWHERE, *INSTRUCTIONS[name]):
        with ThreadPoolExecutor(SLOTS) as pool:
            outputs = list(pool.map(lambda e, text=text: task.run({"instructions": text}, e, context), examples))
        scores.append([task.guide(e, o, context).score for e, o in zip(examples, outputs, strict=True)])
        print(f"  {fmean(scores[-1]):.3f}  {text}", flush=True)
    between, error = components(scores)
    rng = random.Random(0)
    drawn = []
    for _ in range(2000):
        picked = rng.choices(range(len(examples)), k=len(examples))
        drawn.append(components([[row[i] for i in picked] for row in scores])[0])
    drawn.sort()
    print(
        f"  between instructions {between:.3f} (95 % {drawn[50]:.3f} to {drawn[1949]:.3f}), standard error {error:.3f}, "
        f"ratio {between / error:.1f} (goal 3); {time.perf_counter() - started:.0f} s"
    )


def main() -> None:
    """Serve the model and measure the named tasks, or all four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=[*MOST_TOKENS])
    parser.add_argument("--rows", type=int, default=None)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = LlamaServer(model="smollm2-135m", slots=SLOTS)
        try:
            url = server.open(SimpleNamespace(workdir=Path(folder), seed=0, job_id=None))
            for name in asked.tasks:
                measure(name, url, asked.rows)
        finally:
            server.close()


if __name__ == "__main__":
    main()
