"""Gateways as the other tests of the door to models have them."""

from __future__ import annotations

from tests.llm.conftest import open_door

__all__ = ["open_door"]
