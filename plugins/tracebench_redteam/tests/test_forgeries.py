"""What the red team offers for the tasks of any suite, piece by piece: each lie lies, each reader is heard, each reach is seen."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.specs import Feedback, Parameter
from tracebench_redteam import elsewhere
from tracebench_redteam.attacks import ALONE, ATTACKS, SEEN_BY_FOLDER
from tracebench_redteam.elsewhere import LIES, LOOKED_UP, READERS, forgeries
from tracebench_redteam.ground import Ears
from tracebench_redteam.unpaid import LINGERING
from tracebench_testing.attacks import Forgery, Target

HONEST = "def double(x):\n    return 2 * x\n"
CODE = Parameter(name="code", initial=HONEST, kind="code", signature="def double(x)")
WORDS = Parameter(name="words", initial="Be brief.")
TARGET = Target("ours:double", (CODE, WORDS), {"code": HONEST, "words": "Be brief."})
REACHED = [*dict.fromkeys(a.kind for a in ATTACKS if a.kind not in {*ALONE, *SEEN_BY_FOLDER})]


def answer(values: Any, given: float = 3) -> Any:
    """Run a candidate here."""
    names: dict[str, Any] = {}
    exec(values["code"], names)
    return names["double"](given)


def test_a_task_without_functions_is_told_so() -> None:
    target = Target("ours:words", (WORDS,), {"words": "Be brief."})

    assert [*forgeries(target)] == [
        "the red team's candidates are Python functions, and no parameter of the task is one"
    ]


def test_each_function_is_tried_in_every_way_and_who_is_not_seen_to_read_does_not() -> None:
    offered = [*forgeries(TARGET)]

    said = [one for one in offered if isinstance(one, str)]
    tried = [one for one in offered if isinstance(one, Forgery)]
    assert said == ["`code`: what a candidate reads is seen by nobody, its words are not in the task's feedback"]
    names = [one.name.removeprefix("code: ") for one in tried]
    assert names[: len(LIES) + len(LOOKED_UP) + len(READERS) + 1] == [*LIES, *LOOKED_UP, *READERS, "speaks"]
    blind = [kind for kind in REACHED if not kind.startswith("reads ")]
    counts = {kind: sum(attack.kind == kind for attack in ATTACKS) for kind in blind}
    assert names[-len(LINGERING) - len(blind) :] == [
        *(f"{kind}, {counts[kind]} ways" for kind in blind),
        *(f"leaves behind {way}" for way in LINGERING),
    ]
    assert [one.name for one in tried if not one.is_attack] == ["code: speaks"]
    assert all(one.values["words"] == "Be brief." for one in tried)


@pytest.mark.parametrize("what", LIES)
def test_a_lie_equals_the_truth_and_stands_beside_a_plain_answer(what: str) -> None:
    lies = {one.name: one for one in elsewhere._lies(TARGET, "code")}

    forged = lies[f"code: {what}"]
    lie, plain = answer(forged.values), answer(forged.no_more_than)

    assert lie == "whatever"
    assert type(plain) in type(lie).__mro__ or plain is None
    assert (
        lie < 0,
        lie > 0,
        lie <= 1,
        lie >= 1,
        lie != 7,
        5 in lie if hasattr(type(lie), "__contains__") else True,
    ) == (True,) * 6
    assert hash(lie) == object.__hash__(lie)
    assert bool(lie)
    assert type(lie).__name__ == "Lie"


def test_what_can_be_compared_is_never_off_and_what_can_be_asked_says_one() -> None:
    lies = {
        one.name.removeprefix("code: "): answer(one.values)
        for one in elsewhere._lies(TARGET, "code")
        if "truth" not in one.name
    }

    for what in (
        "a number that equals everything",
        "an integer that equals everything",
        "an object that is whatever is asked",
    ):
        assert (lies[what] - 5, 5 - lies[what], abs(lies[what]), lies[what] % 3) == (0.0,) * 4
    asked = lies["an object that is whatever is asked"]
    assert (float(asked), int(asked), len(asked)) == (1.0, 1, 1)
    assert asked.anything[3](4, five=5) is asked
    assert lies["a mapping that has everything"]["no such"] == lies["a mapping that has everything"].get("x") == 1.0
    assert lies["a list that has everything"][9] is lies["a list that has everything"]
    assert lies["a list that has everything"].count(3) == 1
    assert lies["a text that equals everything"].strip() is lies["a text that equals everything"]


class Held:
    reference = "of an example"


@pytest.mark.parametrize("what", LOOKED_UP)
def test_the_truth_is_found_by_its_name(what: str) -> None:
    forged = next(one for one in elsewhere._lies(TARGET, "code") if one.name == f"code: {what}")
    expected, example = None, Held()
    found = answer(forged.values)
    if not what.endswith("collector"):
        assert found == "of an example"
    assert found is not None
    assert (expected, type(example)) == (None, Held)
    assert answer(forged.no_more_than) is None


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("what", READERS)
def test_who_reads_an_answer_is_heard(what: str, tmp_path: Path) -> None:
    with Ears(tmp_path) as ears:
        for forged in elsewhere._readers(TARGET, "code", ears):
            assert forged.gained is not None
            assert forged.gained([]) == "", "nobody has read it"
            if forged.name != f"code: {what}":
                continue
            found = answer(forged.values)
            if "unpickled" in what:
                pickle.loads(pickle.dumps(found))
            else:
                str(found)
            assert forged.gained([]) == "it was heard on a socket that no candidate reaches"


def in_a_process(values: Any, folder: Path) -> str:
    """Run a candidate in a process of its own; what it says is what it raises."""
    program = f"{values['code']}\ntry:\n    print('returned', double(3))\nexcept RuntimeError as err:\n    print(err)\n"
    (folder / "candidate.py").write_text(program)
    argv = [sys.executable, "candidate.py"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True, timeout=120).stdout


def test_what_is_read_is_seen_where_words_come_back(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    names = []
    with Ears(tmp_path) as ears:
        for one in elsewhere._reaching(TARGET, "code", tmp_path, ears):
            assert isinstance(one, Forgery), one
            assert one.gained is not None
            names.append(one.name)
            if one.name == "code: speaks":
                with pytest.raises(RuntimeError) as told:
                    answer(one.values)
                assert one.gained([Feedback(score=0.0, text=f"It said {told.value}.")]) == ""
            elif one.name.startswith("code: reads a key,"):
                assert one.gained([Feedback(score=0.0, text="nothing")]) == ""
                said = in_a_process(one.values, own)
                assert one.gained([Feedback(score=0.0), Feedback(score=0.0, text=said)]) == "it reads a key"
    assert [name.removeprefix("code: ").partition(",")[0] for name in names] == ["speaks", *REACHED]
    assert {path.name for path in own.iterdir()} == {"candidate.py"}, "it works in a folder that it takes away"
    assert not (tmp_path / "ground").exists()


def test_who_left_nothing_behind_has_gained_nothing(tmp_path: Path) -> None:
    with Ears(tmp_path) as ears:
        [one] = elsewhere._lingering(TARGET, "code", "a grandchild", tmp_path, ears)
        assert one.name == "code: leaves behind a grandchild"
    with Ears(tmp_path / "..") as ears:
        for again in elsewhere._lingering(TARGET, "code", "a grandchild", tmp_path, ears):
            assert again.gained is not None
            assert again.gained([]) == ""
            assert again.values != one.values, "each has targets of its own"
