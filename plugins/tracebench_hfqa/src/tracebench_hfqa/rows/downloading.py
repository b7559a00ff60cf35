"""Download one split of a data set and write it as JSON Lines: the program that `hub` runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MISSING = 3


def main() -> int:
    """Take the order as one JSON argument; print the commit that was downloaded."""
    name, config, split, revision, target = json.loads(sys.argv[1])
    try:
        import datasets  # noqa: PLC0415 - heavy, and only this process needs it
        from huggingface_hub import HfApi  # noqa: PLC0415
    except ImportError:
        return MISSING
    datasets.disable_progress_bars()
    commit = revision or str(HfApi().dataset_info(name, timeout=30).sha)
    rows = datasets.load_dataset(name, config, split=split, revision=commit)
    with Path(target).open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, default=_plain) + "\n")
    sys.stdout.write(f"{commit}\n")
    return 0


def _plain(value: Any) -> Any:
    """Turn arrays and dates into what JSON holds."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
