"""The public API as a front end meets it: every name is there, and asking for a light one brings nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

from tracebench_core.errors import TraceBenchError
from tracebench_engine import api
from tracebench_engine.api import checking

MODULES = sorted(each.name for each in walk_packages(api.__path__, "tracebench_engine.api."))


@pytest.mark.parametrize("name", ["tracebench_engine.api", *MODULES])
def test_every_name_that_a_module_offers_is_there(name: str) -> None:
    module = import_module(name)
    for offered in getattr(module, "__all__", ()):
        assert getattr(module, offered) is not None, offered


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("interpreters", "tracebench_engine.checks"),
        ("installed.catalogue", "pydantic"),
        ("keyless", "pydantic"),
        ("records", "tracebench_runs"),
        ("installed.hosting", "numpy"),
        ("checking", "tracebench_testing"),
    ],
)
def test_a_light_module_brings_nothing_heavy(module: str, heavy: str) -> None:
    code = f"import sys, tracebench_engine.api.{module}\nprint({heavy!r} in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "False"


def test_the_kit_is_asked_by_name_and_an_unknown_plugin_is_told_before_any_check() -> None:
    assert checking.checks()["TB301"].about == "task"
    with pytest.raises(TraceBenchError, match="no-such-plugin"):
        next(checking.check_plugin("no-such-plugin"))
