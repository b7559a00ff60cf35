"""Importing this module imports opto, quietly: for the template process that jobs fork from."""

from __future__ import annotations

from tracebench_opto.bridge.library import load

OPTIMIZERS = load("opto.optimizers")
