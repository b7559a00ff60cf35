"""Runs under a Python that has lm-evaluation-harness: `by_lm_eval.py FOLDER` writes samples of two models made up, of two tasks."""

import json
import random
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

QUESTIONS = 150


class Guesser(LM):
    """A model that knows a share of all answers."""

    def __init__(self, skill, seed):
        super().__init__()
        self.skill, self.draw = skill, random.Random(seed)

    def knows(self):
        return self.draw.random() < self.skill

    def generate_until(self, requests, **_):
        return [f"#### {r.doc['answer']}" if self.knows() else "#### none" for r in requests]

    def loglikelihood(self, requests, **_):
        return [
            (self.draw.random() + (1.0 if self.knows() and r.idx == r.doc["gold"] else 0.0), False) for r in requests
        ]

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError


def main(folder):
    """Write rows, two tasks and the samples of both models."""
    folder = Path(folder).resolve()
    (folder / "tasks").mkdir(parents=True)
    rows = [
        {"question": f"What is {i} + 1?", "answer": str(i + 1), "gold": i % 4, "page": i // 5} for i in range(QUESTIONS)
    ]
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}, "test_split": "test"}
    written = {
        **common, "task": "sums", "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "#### {{answer}}",
        "generation_kwargs": {"until": ["\n"], "max_gen_toks": 8},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }  # fmt: skip
    chosen = {
        **common, "task": "choices", "output_type": "multiple_choice", "doc_to_text": "{{question}}", "doc_to_choice": ["a", "b", "c", "d"],
        "doc_to_target": "{{gold}}", "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }  # fmt: skip
    for task in (written, chosen):
        (folder / "tasks" / f"{task['task']}.yaml").write_text(json.dumps(task))
    tasks = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
    for name, skill, seed in (("weak", 0.5, 1), ("strong", 0.68, 2)):
        tracker = EvaluationTracker(output_path=str(folder / name))
        tracker.general_config_tracker.model_name = tracker.general_config_tracker.model_name_sanitized = name
        found = simple_evaluate(
            Guesser(skill, seed), tasks=["sums", "choices"], task_manager=tasks, log_samples=True, bootstrap_iters=0
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        for task, rows_of in samples.items():
            tracker.save_results_samples(task_name=task, samples=rows_of)


if __name__ == "__main__":
    main(sys.argv[1])
