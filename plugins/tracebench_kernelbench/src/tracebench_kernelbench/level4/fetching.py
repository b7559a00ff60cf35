"""Prepares models: takes configuration and weights from the hub to a folder, or what lies there already, and writes down their sums."""

from __future__ import annotations

from pathlib import Path

from tracebench_core.errors import MissingRequirementError, ProgramError, UsageError
from tracebench_kernelbench.level4.prepared import CONFIG, FOLDER, WEIGHTS, is_name, write_sums

_CONFIGURATION = ["config.json", "generation_config.json"]
_SAFE = ["*.safetensors", "*.safetensors.index.json"]
"""Weights that are numbers and nothing else; files that run code when they are read are not taken."""


def prepare(root: Path, name: str, *, revision: str | None, weights: bool, kept: bool) -> str:
    """Prepare a model below a root and return what is there, in words.

    Without `weights` the configuration alone is taken, and with `kept` nothing is: what lies there is written down.

    Raises:
        UsageError: for a name that no hub knows, or a folder without a configuration.
        MissingRequirementError: without the package `huggingface_hub`.
        ProgramError: when the hub does not give it.
    """
    if not is_name(name):
        raise UsageError(f"`{name}` is no name of a model.", hint=f"trace-bench kernelbench models {root} gpt2")
    place = root / FOLDER / name
    if not kept:
        by_hand = f"put its `{CONFIG}` into {place}, then: trace-bench kernelbench models --kept {root} {name}"
        _fetch(place, name, revision, [*_CONFIGURATION, *(_SAFE if weights else ())], by_hand)
    if not (place / CONFIG).is_file():
        raise UsageError(f"`{place}` holds no `{CONFIG}`.", hint=f"trace-bench kernelbench models {root} {name}")
    held = [place / file for file in write_sums(place) if file.endswith(WEIGHTS)]
    size = sum(path.stat().st_size for path in held)
    what = f"{len(held)} files of weights, {size / 1e6:.0f} MB" if held else "no weights: they are made from a seed"
    return f"{name}: {what}; in {place}"


def _fetch(place: Path, name: str, revision: str | None, patterns: list[str], by_hand: str) -> None:
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - an extra
    except ImportError as err:
        raise MissingRequirementError(
            "the package `huggingface_hub` is not installed", hint='pip install "tracebench-kernelbench[hub]"'
        ) from err
    try:
        snapshot_download(name, revision=revision, local_dir=place, allow_patterns=patterns)
    except Exception as err:
        raise ProgramError(f"The model `{name}` cannot be fetched: {err}", hint=by_hand) from err
