"""Runs under a Python that has inspect_ai: `by_inspect.py FOLDER` writes logs of two mock models, as `.eval` and as `.json`."""

import random
import sys

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

QUESTIONS, EPOCHS = 120, 2


def answers(skill, seed):
    """Yield an answer to each sample in the order in which they are asked: epochs after each other."""
    draw = random.Random(seed)
    hard = [random.Random(i).random() / 2 for i in range(QUESTIONS)]
    for _ in range(EPOCHS):
        for i in range(QUESTIONS):
            right = draw.random() < skill + 0.25 - hard[i]
            said = ModelOutput.from_content("mockllm/model", str(i + 1) if right else "no idea")
            said.usage = ModelUsage(
                input_tokens=8, output_tokens=2, total_tokens=10
            )  # else it is counted, with a file from the network
            yield said


rows = [Sample(id=i, input=f"What is {i} + 1?", target=str(i + 1), metadata={"page": i // 4}) for i in range(QUESTIONS)]
for kind in ("eval", "json"):
    for name, skill, seed in (("weak", 0.45, 1), ("strong", 0.7, 2)):
        inspect_ai.eval(
            inspect_ai.Task(dataset=MemoryDataset(rows, name="sums"), solver=generate(), scorer=match(), name="sums"),
            model=get_model("mockllm/model", custom_outputs=list(answers(skill, seed)), memoize=False),
            epochs=EPOCHS,
            max_samples=1,
            max_connections=1,
            display="none",
            log_format=kind,
            log_dir=f"{sys.argv[1]}/{kind}/{name}",
        )
