from __future__ import annotations

import random

from tracebench_core.specs import Candidate, Evaluation, ExampleResult, Feedback
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.merge import merge, mergeable_pairs


def grow(archive: Archive, values: dict[str, int], score: float, parent: Entry | None = None) -> Entry:
    result = ExampleResult(example="a", split="train", seconds=0.0, feedback=Feedback(score=score))
    candidate = Candidate(id=f"c{len(archive)}", values=dict(values))
    return archive.add(Evaluation(candidate=candidate, results=(result,), score=score), parent=parent)


def test_two_lineages_that_improved_different_parameters_are_joined() -> None:
    archive = Archive()
    seed = grow(archive, {"p": 0, "q": 0}, 0.0)
    left = grow(archive, {"p": 1, "q": 0}, 1.0, seed)
    right = grow(archive, {"p": 0, "q": 2}, 1.0, seed)
    [pair] = mergeable_pairs([left, right])
    assert pair.ancestor is seed
    assert merge(pair, rng=random.Random(0)) == {"p": 1, "q": 2}


def test_what_both_changed_comes_from_the_better() -> None:
    archive = Archive()
    seed = grow(archive, {"p": 0, "q": 0, "r": 0}, 0.0)
    left = grow(archive, {"p": 1, "q": 0, "r": 5}, 1.0, seed)
    right = grow(archive, {"p": 0, "q": 2, "r": 7}, 2.0, seed)
    [pair] = mergeable_pairs([left, right])
    assert merge(pair, rng=random.Random(0)) == {"p": 1, "q": 2, "r": 7}


def test_an_ancestor_is_not_merged_with_its_descendant() -> None:
    archive = Archive()
    seed = grow(archive, {"p": 0, "q": 0}, 0.0)
    child = grow(archive, {"p": 1, "q": 0}, 1.0, seed)
    assert mergeable_pairs([seed, child]) == []


def test_lineages_that_changed_the_same_parameter_are_not_merged() -> None:
    archive = Archive()
    seed = grow(archive, {"p": 0, "q": 0}, 0.0)
    left, right = (grow(archive, {"p": p, "q": 0}, 1.0, seed) for p in (1, 2))
    assert mergeable_pairs([left, right]) == []


def test_an_ancestor_better_than_a_side_forbids_the_merge() -> None:
    archive = Archive()
    seed = grow(archive, {"p": 0, "q": 0}, 5.0)
    left = grow(archive, {"p": 1, "q": 0}, 1.0, seed)
    right = grow(archive, {"p": 0, "q": 2}, 9.0, seed)
    assert mergeable_pairs([left, right]) == []
