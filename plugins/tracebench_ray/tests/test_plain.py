"""What can be tried without Ray: options, amounts, and words."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import ValidationError

from tracebench_core.errors import ConfigError, TraceBenchError
from tracebench_core.specs import Resources, RunConfig
from tracebench_ray.options import Options, options_of, outlook
from tracebench_ray.plugin import tracebench_configure
from tracebench_ray.words import Asked, Told, cluster_of, in_words
from tracebench_testing import PluginConformance


class TestPlugin(PluginConformance):
    plugin = "ray"


def config(**options: object) -> RunConfig:
    return RunConfig.model_validate(
        {
            "tasks": [{"id": "t:t"}],
            "trainers": [{"id": "T"}],
            "max_workers": 9,
            "plugins": {"options": {"ray": options}},
        }
    )


def test_what_a_worker_takes_is_what_its_jobs_may_need() -> None:
    need = Resources(cpus=1.5, memory_mb=700, gpus=1)
    asked = Options(jobs=4, resources={"tpu": 2}).asked(need)
    assert asked.amounts == {"CPU": 6.0, "memory": 700.0 * 4 * 2**20, "GPU": 4.0, "tpu": 2.0}
    assert str(asked) == "6 processors, 2.73 GiB, 4 GPUs, 2 tpu"
    assert Options().asked(Resources()).amounts == {"CPU": 1.0}
    assert (Options(jobs=4).number(9), Options(jobs=4, workers=2).number(9)) == (3, 2)


def test_workers_fit_where_all_that_one_takes_is_on_one_node() -> None:
    nodes = [{"CPU": 4.0, "memory": 8.0}, {"CPU": 2.0, "GPU": 1.0, "memory": 8.0}, {"CPU": 64.0, "memory": 1.0}]
    assert cluster_of(nodes, Asked(cpus=2)).places == 2 + 1 + 32
    assert cluster_of(nodes, Asked(cpus=2, memory=2)).places == 2 + 1
    assert cluster_of(nodes, Asked(cpus=2, gpus=1)).places == 1
    none = cluster_of(nodes, Asked(cpus=4, gpus=1))
    assert (none.places, none.largest["CPU"], none.total["GPU"]) == (0, 64.0, 1.0)
    assert cluster_of(nodes, Asked(cpus=1, more={"tpu": 1})).places == 0
    assert in_words({"CPU": 2, "memory": 3 << 30, "GPU": 1}) == "2 processors, 3 GiB, 1 GPU"


def test_a_run_is_reached_from_elsewhere_only_where_its_cluster_is() -> None:
    assert options_of(config()).listen == ""
    assert options_of(config(address="auto")).listen == "0.0.0.0:0"
    assert options_of(config(address="auto", listen="10.0.0.1:7")).listen == "10.0.0.1:7"


@pytest.mark.parametrize(
    ("options", "is_found"),
    [
        ({}, False), ({"address": "auto"}, True), ({"address": "auto", "listen": "*:7"}, True), ({"address": "h:1",
        "listen": "[::]:7"}, True), ({"address": "auto", "listen": "10.0.0.1:7"}, False),
        ({"address": "auto", "reach": "h:7"}, False), ({"listen": "0.0.0.0:0"}, False),
    ],
)  # fmt: skip
def test_the_cluster_tells_where_a_run_is_found_that_listens_everywhere(
    options: dict[str, str], is_found: bool
) -> None:
    assert Options.model_validate(options).serving.order(Resources(), 1).reach is is_found


def test_an_order_says_all_that_whoever_places_workers_has_to_know() -> None:
    options = Options(address="h:1", jobs=2, grows=True, processors=8, python="/p", resources={"tpu": 0.5})
    assert options.order(Resources(cpus=1.5, memory_mb=3, gpus=1), 4).model_dump() == {
        "address": "h:1", "number": 4, "asked": {"cpus": 3.0, "memory": 6 << 20, "gpus": 2, "more": {"tpu": 0.5}}, "grows": True,
        "processors": 8, "python": "/p", "jobs": 2, "folder": str(Path.cwd()), "root": None, "ticket": "", "reach": False,
    }  # fmt: skip


def test_a_cluster_is_told_by_its_nodes_and_what_they_have() -> None:
    two = cluster_of([{"CPU": 4.0, "memory": float(1 << 30)}, {"CPU": 1.0, "GPU": 2.0, "other": 9.0}], Asked(cpus=1))
    assert str(two) == "2 nodes with 5 processors, 2 GPUs, 1 GiB"
    assert (two.nodes, two.places, two.largest) == (2, 5, {"CPU": 4.0, "GPU": 2.0, "memory": float(1 << 30)})
    assert str(cluster_of([{"CPU": 1.0}], Asked(cpus=1))) == "1 node with 1 processor"
    assert str(Asked(cpus=0)) == in_words({}) == "nothing"
    assert in_words({"CPU": 0.5, "tpu": 1, "memory": 1.25 * (1 << 30)}) == "0.5 processors, 1 tpu, 1.25 GiB"


def test_an_option_that_there_is_not_is_told() -> None:
    with pytest.raises(ConfigError, match=r"plugins\.options\.ray\.adress"):
        tracebench_configure({"options": {"adress": "auto"}})
    for wrong in (
        {"address": "ray://head:10001"}, {"address": "head:99999"}, {"address": f"{'a' * 70}:1"}, {"address": "head:port"},
        {"jobs": 0}, {"listen": "all"},
        *({"resources": {"tpu": amount}} for amount in ("many", -1, 0.00001, float("inf"), float("nan"))),
        {"resources": {"CPU": 2}}, {"resources": {"memory": 1 << 30}},
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            Options.model_validate(wrong)


def test_a_line_says_one_thing_and_is_short() -> None:
    told = Told(waiting=0).model_dump_json(exclude_defaults=True)
    assert json.loads(told) == {"waiting": 0}
    assert Told.model_validate_json(told) == Told(waiting=0)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is here")
def test_where_ray_is_not_it_is_told_what_to_install() -> None:
    with pytest.raises(TraceBenchError, match="needs Ray") as caught:
        outlook(config(), Resources())
    assert "pip install" in caught.value.hint
    assert caught.value.hint.endswith("'tracebench-ray[ray]'")


def test_neither_listing_nor_planning_imports_ray() -> None:
    code = "import sys, tracebench_ray.plugin, tracebench_ray.executor; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
