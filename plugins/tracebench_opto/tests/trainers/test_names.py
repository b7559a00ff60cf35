"""Every name of OpenTrace's trainers leads to one of ours, or is refused with the reason."""

from pathlib import Path

import pytest

from tracebench_core.errors import UsageError
from tracebench_engine.builtin.hosting import open_host
from tracebench_opto.trainers.specs import NAMES, REFUSED

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "trainers.md"
LEADS = [(old, ours) for ours, others in NAMES.items() for old in others] + [("NoOpTrainer", "NoOp")]
SAME = (
    "PrioritySearch",
    "StreamingPrioritySearch",
    "SequentialSearch",
    "SequentialUpdate",
    "AggregatedUpdate",
    "POLCA",
)


def test_a_known_name_leads_to_ours() -> None:
    host = open_host()
    found = {old: host.component("trainer", old).name for old, _ in LEADS}
    assert found == dict(LEADS)
    assert {name: host.component("trainer", name).name for name in SAME} == {name: name for name in SAME}


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_stands_for_nothing_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UsageError, match="is excluded: ") as refusal:
        open_host().component("trainer", name)
    assert REFUSED[name] in str(refusal.value)


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text()
    for old, ours in LEADS:
        assert any(f"`{old}`" in line and f"| `{ours}` |" in line for line in page.splitlines())
    for name, why in REFUSED.items():
        assert f"| `{name}` | refused: {why} |" in page
