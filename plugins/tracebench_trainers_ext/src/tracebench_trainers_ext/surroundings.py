"""The environment of a library's process: nothing of the user's, every cache and log in the job's folder, telemetry off."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
"""What a library may know of the job's own environment; all else, keys above all, stays there."""
OFF = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "MPLBACKEND": "Agg",
    "TQDM_DISABLE": "1",
    "WANDB_MODE": "disabled",
}
FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "DSPY_CACHEDIR": "cache/dspy",
    "TEXTGRAD_LOG_DIR": "logs",
    "MPLCONFIGDIR": "cache/matplotlib",
    "LITELLM_CACHE_DIR": "cache/litellm",
}


def build_environ(folder: Path, job: Mapping[str, str], *, adapters: Path) -> dict[str, str]:
    """Return the environment for a process that may write into `folder` alone; the folders that it names are made."""
    environ = {name: job[name] for name in KEPT if name in job}
    for name, place in FOLDERS.items():
        path = folder / place
        path.mkdir(parents=True, exist_ok=True)
        environ[name] = str(path)
    fixed = {
        "PYTHONPATH": str(adapters),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return environ | OFF | fixed | {"PATH": job.get("PATH", os.defpath)}
