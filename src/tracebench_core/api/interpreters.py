"""The interpreters that other libraries live in; light, so that a plugin may look for one while it lists its tasks."""

from tracebench_core.plugins.interpreters import find_python, has_python

__all__ = ["find_python", "has_python"]
