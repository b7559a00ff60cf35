"""The plugin and its task keep every promise that the conformance kit knows."""

from tests.whole import HEAVY

from tracebench_testing import PluginConformance, SuiteConformance


class TestPlugin(PluginConformance):
    plugin = "example_plugin"


class TestSuite(SuiteConformance):
    plugin = "example_plugin"

    @HEAVY
    def test_tb306(self) -> None:
        self.demand("TB306")

    @HEAVY
    def test_tb314(self) -> None:
        self.demand("TB314")
