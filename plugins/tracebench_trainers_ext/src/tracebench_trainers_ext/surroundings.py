"""The environment of a library's process: nothing of the user's, every cache and log in the job's folder, telemetry off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
    "DSPY_CACHEDIR": "cache/dspy",
    "TEXTGRAD_LOG_DIR": "logs",
    "MPLCONFIGDIR": "cache/matplotlib",
    "LITELLM_CACHE_DIR": "cache/litellm",
}


def build_environ(folder: Path, job: Mapping[str, str], *, adapters: Path) -> dict[str, str]:
    """Return the environment for a process that may write into `folder` alone; the folders that it names are made."""
    from tracebench_engine.api.programs import bare_environ  # noqa: PLC0415 - in the job's process alone

    environ = bare_environ(folder, job, places=FOLDERS)
    return environ | OFF | {"PYTHONPATH": str(adapters), "PYTHONUNBUFFERED": "1"}
