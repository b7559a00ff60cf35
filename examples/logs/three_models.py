"""Write what three made-up models scored on 400 questions, as lm-evaluation-harness writes its samples."""

import json
import random
from pathlib import Path

for model, skill, seed in (("one", 0.62, 1), ("two", 0.70, 2), ("three", 0.71, 3)):
    draw = random.Random(seed)
    with Path(f"{model}.jsonl").open("w") as file:
        for i in range(400):
            row = {
                "doc_id": i,
                "doc": {"text": i // 4},
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": f"d{i}",
                "acc": float(draw.random() < skill),
            }
            file.write(json.dumps(row) + "\n")
