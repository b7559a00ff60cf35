"""The plugin and its tasks keep every promise that the conformance kit knows."""

from tracebench_testing import PluginConformance, SuiteConformance


class TestPlugin(PluginConformance):
    plugin = "fields"


class TestSuite(SuiteConformance):
    plugin = "fields"
