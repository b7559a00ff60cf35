"""The plugin keeps every promise that the conformance kit knows."""

from tracebench_core.testing import PluginConformance


class TestPlugin(PluginConformance):
    plugin = "redteam"
