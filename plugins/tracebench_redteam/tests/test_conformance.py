"""The plugin keeps every promise that the conformance kit knows."""

from tracebench_testing import PluginConformance


class TestPlugin(PluginConformance):
    plugin = "redteam"
