"""Builds the trainers: which adapter, which library, which tasks it cannot serve."""

from __future__ import annotations

from pydantic import BaseModel

from tracebench_trainers_ext import libraries
from tracebench_trainers_ext.launch import ForeignTrainer


def gepa_optimize(settings: BaseModel) -> ForeignTrainer:
    """Return `gepa-optimize`."""
    return ForeignTrainer("gepa_optimize", libraries.GEPA, settings)


def gepa_anything(settings: BaseModel) -> ForeignTrainer:
    """Return `gepa-anything`."""
    return ForeignTrainer("gepa_anything", libraries.GEPA, settings)
