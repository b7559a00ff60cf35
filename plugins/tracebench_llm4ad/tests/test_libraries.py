"""The literature's sizes, and the files of TSPLIB, CVRPLIB and OR-Library: read, dealt, refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Feedback
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.folder import VARIABLE
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.constructive.libraries import drawn_cities, parse
from tracebench_llm4ad.constructive.plane import held_karp_bound
from tracebench_llm4ad.published import published_program

SQUARE = """NAME : square
COMMENT : four corners
TYPE : TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 10 10
3 10 0
4 0 10
EOF
"""
VEHICLES = """NAME : tiny-n4-k2
COMMENT : (made up, No of trucks: 2, Optimal value: 48)
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
 1 0 0
 2 10 10
 3 10 0
 4 0 10
DEMAND_SECTION
1 0
2 6
3 4
4 6
DEPOT_SECTION
 1
 -1
EOF
"""
BINS = "2\n one\n 10 4 2\n 5 5 6 4\n two\n 10 3 2\n 9 1 2\n"
SIZED = [name for name in BY_NAME if name.endswith("_construct")]


def build(name: str, **options: Any) -> CodeTask:
    spec = BY_NAME[f"optimization/{name}"]
    task: CodeTask = load_ref(spec.loader, owner=name)(**options)
    return task


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder, name, text in (
        ("TSPLIB", "square.tsp", SQUARE),
        ("CVRPLIB", "tiny.vrp", VEHICLES),
        ("Bin packing - one-dimensional", "binpack1.txt", BINS),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", SIZED)
def test_every_constructive_task_has_three_sizes_that_grow(name: str) -> None:
    model = load_ref(BY_NAME[name].options, owner=name)
    small, medium, ranking = (model(size=size) for size in ("small", "medium", "ranking"))
    grows = next(f for f in ("problem_size", "n_jobs", "n_items", "n_elements", "n_facilities") if hasattr(small, f))

    assert getattr(small, grows) < getattr(medium, grows) < getattr(ranking, grows)
    assert (ranking.n_instance, ranking.n_test) == (16, 4)
    assert model(size="ranking", n_test=1).n_test == 1
    with pytest.raises(ValidationError):
        model(size="huge")


def test_reevos_cities_are_those_of_its_seed() -> None:
    train, test = drawn_cities("train", 20), drawn_cities("test", 100)
    assert train is not None
    assert test is not None
    assert train.shape == (64, 50, 2)
    assert train[0, 0].tolist() == np.random.RandomState(1234).rand(2).tolist()
    assert test.shape == (64, 100, 2)
    assert drawn_cities("validation", 500) is None


def test_distances_are_those_of_tsplib() -> None:
    geo = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 38.24 20.42\n2 39.57 26.15\nEOF"
    att = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: ATT\nNODE_COORD_SECTION\n1 6734 1453\n2 2233 10\nEOF"
    assert (
        parse(geo, name="ulysses16").distance[0, 1] == 509
    )  # as in TSPLIB's documentation and every code that follows it
    assert parse(att, name="att48").distance[0, 1] == 1495
    assert parse(att, name="att48").known == 10628
    assert parse(SQUARE, name="square").distance[0].tolist() == [0, 14, 10, 10]
    assert parse(SQUARE.replace("EUC", "CEIL"), name="square").distance[0].tolist() == [0, 15, 10, 10]


def test_files_of_cities_and_customers_are_measured_against_their_best_lengths(
    data: Path, evaluate: Callable[..., Feedback]
) -> None:
    (data / "TSPLIB" / "square.sol").write_text("Cost 40\n")
    cities = build("tsp_construct", data="real", n_train=1)
    vehicles = build("cvrp_construct", data="real", n_train=1)
    toured = evaluate(cities, published_program("nearest_neighbour.py"))

    assert toured.metrics["tour_length"] == 40
    assert "TSPLIB's optimum" in toured.text
    assert "whole numbers" in cities.objective
    assert vehicles.evaluator.bound(vehicles.splits["train"][0].input[0].instance) == 48
    assert evaluate(vehicles, vehicles.parameters[0].initial).metrics["route_length"] >= 48


def test_a_file_of_bins_is_one_example(data: Path, evaluate: Callable[..., Feedback]) -> None:
    task = build("online_bin_packing", data="real", instances=["binpack1"], n_test=1)
    packed = evaluate(task, published_program("best_fit.py"), example=task.splits["test"][0])

    assert data.is_dir()
    assert packed.metrics["bins"] == 2
    with pytest.raises(UsageError, match="there is no file `binpack9`") as refused:
        build("online_bin_packing", data="real", instances=["binpack9"])
    assert "binpack1" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("EUC_2D", "EXPLICIT"), "its distances are `EXPLICIT`; EUC_2D, CEIL_2D, ATT and GEO are read"),
        (("DIMENSION : 4", "DIMENSION : 5"), "it has 4 places, and `DIMENSION` is 5"),
        (("3 10 0\n", "3 ten 0\n"), "could not convert"),
        (("NODE_COORD_SECTION\n", ""), "stands before any section"),
        (("EDGE_WEIGHT_TYPE : EUC_2D\n", ""), "it has no `EDGE_WEIGHT_TYPE`"),
        (("3 10 0\n", "3 nan 0\n"), "its coordinates are not finite"),
        (("3 10 0\n", "3 1e999 0\n"), "its coordinates are not finite"),
        (("DIMENSION : 4", "DIMENSION : 1e999"), "invalid literal"),
        (("DIMENSION : 4", "DIMENSION : 4\nCAPACITY : inf"), "cannot convert float infinity"),
    ],
)
def test_a_file_that_is_not_as_tsplib_has_it_is_named_with_the_reason(change: tuple[str, str], told: str) -> None:
    with pytest.raises(UsageError, match="the file of `square` is not as TSPLIB has it") as refused:
        parse(SQUARE.replace(*change), name="square")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("CAPACITY : 10", "CAPACITY : 5"), "a demand is less than 0, or greater than the capacity of 5"),
        (("3 4\n", "3 -4\n"), "a demand is less than 0"),
        (("3 4\n", "3 1e30\n"), "too large"),
        (("DEMAND_SECTION\n", "OTHER_SECTION\n"), "it has no customers that demand anything"),
    ],
)
def test_a_demand_that_no_vehicle_serves_is_refused(change: tuple[str, str], told: str) -> None:
    with pytest.raises(UsageError, match="the file of `tiny` is not as TSPLIB has it") as refused:
        parse(VEHICLES.replace(*change), name="tiny", is_demanded=True)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("comment", "solution", "known"),
    [
        ("Best value: 48.5.", "", 48.5),
        ("Optimal value: 4.8.5", "", 4.8),
        ("Best: ...", "", None),
        ("", "Cost ...", None),
        ("", "cost: 48.", 48),
    ],
)
def test_the_best_length_is_a_number_or_not_known(comment: str, solution: str, known: float | None) -> None:
    assert parse(SQUARE.replace("four corners", comment), name="square", solution=solution).known == known


def test_distances_are_computed_of_what_is_dealt_alone() -> None:
    """TSPLIB has an instance of 85,900 cities, whose table would take 59 GB."""
    places = "".join(f"{n} {n} 0\n" for n in range(10_001))
    text = f"DIMENSION : 10001\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n{places}"
    found = parse(text, name="huge")

    with pytest.raises(UsageError, match="`huge` has 10,001 places"):
        _ = found.distance


@pytest.mark.parametrize(("cities", "length"), [(1, 0), (2, 28), (3, 34)])
def test_the_shortest_tour_of_few_cities_is_its_own_bound(cities: int, length: int) -> None:
    text = SQUARE.replace("DIMENSION : 4", f"DIMENSION : {cities}").splitlines()
    assert held_karp_bound(parse("\n".join(text[: 6 + cities]), name="few").distance) == pytest.approx(length)


def test_without_a_folder_the_hint_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(MissingRequirementError) as refused:
        build("tsp_construct", data="real")
    assert VARIABLE in (refused.value.hint or "")


def test_uniform_knapsacks_hold_what_the_literature_says_of_them() -> None:
    """About 20.04 for 50 items and a capacity of 12.5 (Kwon et al. 2020), here in ten-thousandths."""
    task = build("knapsack_construct", size="small", n_instance=64, n_test=1)
    optima = [task.evaluator.bound(case.instance) / 10_000 for case in task.splits["test"][0].input]
    assert np.mean(optima) == pytest.approx(20.04, abs=0.4)
