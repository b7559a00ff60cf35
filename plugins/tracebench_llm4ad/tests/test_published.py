"""The published heuristics reach their published figures, as far as that takes seconds; the benchmark has the whole table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from tracebench_core.errors import UsageError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Feedback
from tracebench_llm4ad import published
from tracebench_llm4ad.basic.admissible_set import all_words, grow, surviving
from tracebench_llm4ad.basic.tour_search import improve_around, tour_length
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.covering import SetCovering
from tracebench_llm4ad.cobench.problem import CoBenchOptions
from tracebench_llm4ad.cobench.taillard import flow_shop, job_shop
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.constructive.plane import distances

FOLDER = Path(published.__file__).parent

ALONE = "def update_edge_distance(edge_distance, local_opt_tour, edge_n_used):\n    return edge_distance.copy()\n"
GUIDED = """
def update_edge_distance(edge_distance, local_opt_tour, edge_n_used):
    here, there = local_opt_tour, np.roll(local_opt_tour, -1)
    guided = edge_distance.copy()
    guided[here, there] += edge_distance[here, there] / (1 + edge_n_used[here, there])
    guided[there, here] = guided[here, there]
    return guided
"""


def rows() -> list[dict]:
    return yaml.safe_load((FOLDER / "llm4ad.yaml").read_text(encoding="utf-8"))


def build(name: str, **options: object) -> CodeTask:
    return load_ref(BY_NAME[name].loader, owner=name)(**options)


def test_every_row_names_a_task_its_options_and_a_program_that_is_there() -> None:
    named = {row["program"] for row in rows() if "program" in row}
    assert named == {path.name for path in FOLDER.glob("*.py")} - {"__init__.py"}
    for row in rows():
        spec = BY_NAME[row["task"].partition(":")[2]]
        load_ref(spec.options, owner=spec.name)(**row["eval_kwargs"])


@pytest.mark.parametrize("row", [r for r in rows() if "co_bench" in r["task"]], ids=lambda r: r["heuristic"])
def test_the_shops_of_taillard_have_their_published_makespans(row: dict, evaluate: Callable[..., Feedback]) -> None:
    task = build(row["task"].partition(":")[2], **row["eval_kwargs"])
    program = (FOLDER / row["program"]).read_text()
    scored = [evaluate(task, program, example=example).metrics[row["metric"]] for example in task.splits["train"]]

    assert len(scored) == 10
    assert np.mean(scored) == pytest.approx(row["published"])


def test_taillards_generator_draws_the_published_instances() -> None:
    assert flow_shop(873654221, jobs=20, machines=5)[0][:10] == [54, 83, 15, 71, 77, 36, 53, 38, 27, 87]
    times, machines = job_shop(840612802, 398197754, jobs=15, machines=15)
    assert times[0] == [94, 66, 10, 53, 26, 15, 65, 82, 10, 27, 93, 92, 96, 70, 83]
    assert machines[0] == [7, 13, 5, 8, 4, 3, 11, 12, 9, 15, 10, 14, 6, 1, 2]


def test_published_instances_are_refused_where_no_seeds_are_published() -> None:
    with pytest.raises(UsageError, match="no seeds are published of the instances of `Set covering`"):
        SetCovering(CoBenchOptions(data="published"))


def test_funsearchs_function_builds_the_full_admissible_set(evaluate: Callable[..., Feedback]) -> None:
    task = build("optimization/admissible_set", train=[[15, 10]], validation=[], test=[])

    assert evaluate(task, (FOLDER / "funsearch_15_10.py").read_text()).metrics["set_size"] == 3003


def test_sets_grow_as_the_definition_has_it() -> None:
    words = all_words(12, 7)
    words = words[np.random.default_rng(3).permutation(len(words))]
    taken: list[int] = []
    queue = np.arange(len(words))
    while len(queue):
        first = int(queue[0])
        queue = queue[1:][surviving(words[queue[1:]], words[first], words[taken])]
        taken.append(first)

    assert grow(words) == [tuple(words[index].tolist()) for index in taken]


def test_the_move_around_a_city_is_the_best_of_its_kind() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        distance, tour, city = distances(rng.random((9, 2))), rng.permutation(9), int(rng.integers(9))
        turned = np.roll(tour, -int(np.flatnonzero(tour == city)[0])).tolist()
        rest = turned[1:]
        tours = [turned[: j + 1][::-1] + turned[j + 1 :] for j in range(9)]
        tours += [[*rest[:p], city, *rest[p:]] for p in range(9)]
        moved = improve_around(tour, city, distance)

        assert sorted(moved) == list(range(9))
        assert tour_length(moved, distance) == pytest.approx(min(tour_length(np.array(t), distance) for t in tours))


def test_the_published_guided_search_finds_better_tours_than_local_search(evaluate: Callable[..., Feedback]) -> None:
    options = {
        "problem_size": 40,
        "search": "penalties",
        "perturbations": 60,
        "penalised": 5,
        "n_instance": 2,
        "n_train": 1,
    }
    task = build("optimization/tsp_gls_2O", **options)
    alone, guided = (evaluate(task, program) for program in (ALONE, GUIDED))

    assert "penalised" in task.objective
    assert guided.metrics["tour_length"] < alone.metrics["tour_length"]
