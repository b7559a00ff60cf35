"""The plugin and its tasks keep every promise that the conformance kit knows."""

from tests.whole import HEAVY

from tracebench_testing import PluginConformance, SuiteConformance


class TestPlugin(PluginConformance):
    plugin = "fields"


@HEAVY
class TestSuite(SuiteConformance):
    plugin = "fields"
