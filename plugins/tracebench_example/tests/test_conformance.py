"""The plugin and its task keep every promise that the conformance kit knows."""

from tracebench_testing import PluginConformance, SuiteConformance


class TestPlugin(PluginConformance):
    plugin = "example_plugin"


class TestSuite(SuiteConformance):
    plugin = "example_plugin"
