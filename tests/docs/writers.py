"""Loads the scripts that write pages, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

REGISTER = Path(__file__).parents[2] / "docs/register"


def load_writer(name: str) -> ModuleType:
    """Return the script of docs/register by its name, without `.py`."""
    spec = importlib.util.spec_from_file_location(name, REGISTER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where pydantic looks names up
    spec.loader.exec_module(module)
    return module
