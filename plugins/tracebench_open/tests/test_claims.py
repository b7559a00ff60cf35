"""Public claims asked again: the law, packings in rationals, pinned files, the cage, and the page that ships beside its figures."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from fractions import Fraction
from importlib.util import find_spec
from math import comb
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from tracebench_core.errors import UsageError
from tracebench_open.claims import itemwise, law, page, recorded, register, results, routing
from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found
from tracebench_open.claims.packing import certify
from tracebench_open.claims.trees import AbsentError, Source, Trees, WrongError

ROOT = Path(__file__).parents[3]
SHOWN = ROOT / "docs/reference/public-claims.md"
CLONES = os.environ.get("TRACEBENCH_CLONES", "")
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("low", "high", "above", "verdict"),
    [
        (1.0, 2.0, False, "confirmed"),
        (1.0, 2.0, True, "not resolved"),
        (1.1, None, False, "confirmed"),
        (0.9, 2.0, False, "not resolved"),
        (None, None, False, "not resolved"),
        (0.2, 0.9, False, "refuted at this setting"),
        (0.2, 1.0, False, "not resolved"),
        (0.2, 1.0, True, "refuted at this setting"),
    ],
)
def test_an_interval_stands_to_a_region(low: float, high: float | None, *, above: bool, verdict: str) -> None:
    assert law.verdict_of(Found(1.0, low, high), Fraction(1), None, above=above) == verdict


def test_intervals_are_those_of_the_books() -> None:
    assert law.share(4, 20) == pytest.approx((0.0573, 0.4366), abs=1e-4)  # Clopper and Pearson
    assert law.share(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert law.share(10, 10)[1] == 1.0
    found = law.median([*range(1, 26)])
    assert (found.estimate, found.low, found.high) == (13.0, 8, 18)  # ranks 8 and 18 of 25: 95.7 %
    assert law.median([1, 2, 3, 4, 5]).low is None
    assert (law.median([1, 2, 3, 4, 5, 6]).low, law.median([1, 2, 3, 4, 5, 6]).high) == (1, 6)


@pytest.mark.parametrize(("won", "lost"), [(9, 1), (6, 0), (5, 0), (122, 80), (8, 8), (0, 0)])
def test_a_paired_interval_leaves_zero_out_just_where_mcnemar_does(won: int, lost: int) -> None:
    found = law.paired(won, lost, 200)
    tail = sum(comb(won + lost, k) for k in range(min(won, lost) + 1)) / 2 ** (won + lost)
    assert (found.low is not None and float(found.low) > 0) == (won > lost and 2 * tail < 0.05)


def test_packings_are_judged_in_rationals() -> None:
    half, touching = Fraction(1, 4), [[Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]]
    assert certify(touching).holds(Fraction(0))
    one = certify([*touching, [Fraction(3, 4), Fraction(1, 4), half]])
    assert (one.total, one.overlap, one.outside, one.holds(Fraction(0))) == (Fraction(1, 2), 0, 0, True)
    tiny = Fraction(1, 10**30)
    over = certify([*touching, [Fraction(3, 4), Fraction(1, 4), half + tiny]])
    assert not over.holds(Fraction(0))
    assert over.holds(tiny)
    assert over.strict == over.total - 2 * tiny  # it leaves the square by as much as it overlaps
    again = [
        [x, y, r - max(over.overlap / 2, over.outside)]
        for x, y, r in ([*touching[0]], [Fraction(3, 4), half, half + tiny])
    ]
    assert certify(again).holds(Fraction(0))
    assert not certify([[half, half, Fraction(0)]]).holds(Fraction(1))
    with pytest.raises(ValueError, match="unpack"):
        certify([[half, half]])


def clone(folder: Path, files: dict[str, str], *, name: str = "some/project") -> Source:
    """Make a clone with a commit, and return it with every file pinned."""
    place = folder / name.replace("/", "+")
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "m"]):
        subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True)
    head = subprocess.run(["git", "-C", str(place), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    pinned = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    told = "".join(f"{pinned[path]}  {path}\n" for path in sorted(files))
    return Source(
        name="it", repository=name, commit=head.stdout.strip(), licence="MIT", files=pinned,
        folders={".": hashlib.sha256(told.encode()).hexdigest()},
    )  # fmt: skip


def test_a_file_is_the_one_that_is_pinned_or_none(tmp_path: Path) -> None:
    source = clone(tmp_path, {"a/one.txt": "one\n", "two.txt": "two"})
    trees = Trees(tmp_path, {"it": source})
    (tmp_path / "some+project/a/one.txt").write_text("changed since")
    assert trees.text("it", "a/one.txt") == "one\n"
    assert trees.folder("it", ".") == {"a/one.txt": "one\n", "two.txt": "two"}
    assert trees.texts("it", under="a/") == {"a/one.txt": "one\n"}
    wrong = source.model_copy(update={"files": {"two.txt": "0" * 64}, "folders": {".": "0" * 64}})
    for ask in (lambda t: t.text("it", "two.txt"), lambda t: t.folder("it", ".")):
        with pytest.raises(WrongError, match="SHA-256"):
            ask(Trees(tmp_path, {"it": wrong}))
    with pytest.raises(AbsentError, match="no clone"):
        Trees(tmp_path / "nowhere", {"it": source}).text("it", "two.txt")
    with pytest.raises(AbsentError, match="does not show"):
        Trees(tmp_path, {"it": source.model_copy(update={"commit": "0" * 40})}).text("it", "two.txt")


def test_records_are_compared_item_by_item(tmp_path: Path) -> None:
    right, wrong = "so it is.\nAnswer: B", "answer : c"
    known = {
        f"q{i}": {"predictions": [wrong if i < 6 else right, "no letter", right], "answer": "B"} for i in range(20)
    }
    table = "text,one,other\n" + '"two\nlines",True,False\n' * 9 + "x,False,True\n" + "y,,True\n"
    runs = "".join(f"{i},t{i % 3},{i % 2 == 0},{k}\n" for i in range(12) for k in (0, 1))
    lines = "".join(json.dumps({"task_id": f"t{i}", "is_solved": i == 0}) + "\n" for i in range(3))
    source = clone(tmp_path, {
        "known.json": json.dumps(known), "table.csv": table, "r.jsonl": lines,
        "runs.csv": "seed,task_id,success,iteration_idx\n" + runs,
    })  # fmt: skip
    trees, cage = Trees(tmp_path, {"it": source}), Cage()
    found = itemwise.first_and_last(trees, cage, source="it", path="known.json")
    assert (found.estimate, dict(found.rows[0])["won"]) == (30.0, 6)
    assert found.low is not None
    assert found.low > 0
    found = itemwise.two_columns(trees, cage, source="it", path="table.csv", one="one", other="other")
    assert (found.estimate, dict(found.rows[0])["items"]) == (80.0, 10)
    found = itemwise.by_task(
        trees, cage, source="it", table="runs.csv", last="1", others=["r.jsonl"], solved="is_solved"
    )
    assert found.estimate == pytest.approx(100 * (0.5 - 1 / 3))


def test_a_program_is_taken_from_the_words_that_announce_it() -> None:
    block = "    ```python\n    x = 1\n    if x:\n        y = 2\n    ```\n"
    text = "    ```python\n    seed = 1\n    ```\n    **Optimized artifact** - it\n\n" + block
    assert routing.last_program(text) == "x = 1\nif x:\n    y = 2\n"
    with pytest.raises(Exception, match="No block of code"):
        routing.last_program("nothing")


def test_a_run_that_was_recorded_is_held_against_restarts(tmp_path: Path) -> None:
    if find_spec("scipy") is None:
        pytest.skip("scipy is not installed here")
    code = "def pack():\n    return [[0.25, 0.25]], [0.25]\n"
    programs = {
        f"run/programs/{i}.json": json.dumps({
            "id": str(i), "code": code, "timestamp": i, "metrics": {"validity": float(i != 2), "sum": worth},
        })
        for i, worth in enumerate([0.1, 0.3, 9.0, 0.45, 0.44])
    }  # fmt: skip
    source = clone(tmp_path, programs)
    trees = Trees(tmp_path, {"it": source})
    where: dict[str, Any] = {"source": "it", "folder": ".", "metric": "sum"}
    assert recorded.best(trees, Cage(), **where).estimate == Fraction(0.45)
    with Cage() as cage:
        found = recorded.calls_against_restarts(trees, cage, **where, target="0.4", circles=1, restarts=20)
        again = recorded.best_again(trees, cage, **where, tolerance="0", seeds=2, function="pack")
    assert again.estimate == Fraction(1, 4)
    assert "program 4 of 5" in found.told[0]
    assert float(found.estimate) == pytest.approx(1 / 4)  # one circle: every restart finds the half
    assert found.low is not None
    assert law.verdict_of(found, Fraction(1), None, above=True) == "refuted at this setting"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a folder with clones and a register of three claims: one holds, one does not, and one cannot be asked."""
    packed = "import random\n\ndef pack():\n    r = 0.25 + 0.05 * random.random()\n    return [[0.5, 0.5]], [r]\n"
    source = clone(tmp_path / "clones", {"pack.py": packed})
    claim = (
        '[[claim]]\nid = "{id}"\nby = "N"\nsaid = "it is {least}"\nwhere = "pack.py"\nasked = "The sum."\nat_least = "{least}"\n'
        'how = "packings:best_of_program"\n'
        'options = {{ source = "{source}", path = "pack.py", function = "pack", tolerance = "0", seeds = 3 }}\n'
        'differs = ["all of it"]\nseen = false\n\n'
    )
    text = (
        f'[[source]]\nname = "it"\nrepository = "some/project"\ncommit = "{source.commit}"\nlicence = "MIT"\n[source.files]\n'
        f'"pack.py" = "{source.files["pack.py"]}"\n\n[[source]]\nname = "away"\nrepository = "other/project"\n'
        f'commit = "{source.commit}"\nlicence = "MIT"\n[source.files]\n"pack.py" = "{source.files["pack.py"]}"\n\n'
        + claim.format(id="holds", least="0.25", source="it")
        + claim.format(id="does-not", least="0.31", source="it")
        + claim.format(id="away", least="0.25", source="away")
    )
    (tmp_path / "register.toml").write_text(text)
    return tmp_path


def claims(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    argv = ("open-bench", "claims", *map(str, words))
    return warm.trace_bench(*argv, folder=folder, environ=os.environ, timeout=600)


def test_from_a_register_to_a_page(small: Path) -> None:
    """Programs run in the cage, seeds give the same figures again, and what is away is said."""
    if find_spec("scipy") is None:
        pytest.skip("scipy is not installed here")
    asked = ("repeat", "--root", "clones", "--register", "register.toml", "--to")
    done = claims(small, *asked, "one.json")
    assert done.returncode == 0, done.stderr
    said = {line.partition(":")[0]: line for line in done.stdout.splitlines()}
    assert "holds: confirmed" in said["holds"]
    assert "not resolved" in said["does-not"]  # a best draw has no upper end
    assert "not asked here" in said["away"]
    assert "no clone of other/project" in said["away"]
    assert claims(small, *asked, "two.json").returncode == 0
    assert (small / "one.json").read_bytes() == (small / "two.json").read_bytes()
    assert claims(small, "page", "one.json", "--register", "register.toml", "--to", "page.md").returncode == 0
    assert "| [holds](#holds) | N | it is 0.25 | 0.25 or more |" in (small / "page.md").read_text()
    shown, words = (small / "page.md").read_text(), (small / "register.toml").read_text()
    (small / "register.toml").write_text(words.replace("all of it", "the wording"))  # judges nothing
    again = ("page", "one.json", "--register", "register.toml", "--to", "page.md")
    assert claims(small, *again).returncode == 0
    assert (small / "page.md").read_text() != shown
    (small / "register.toml").write_text(words.replace('at_least = "0.31"', 'at_least = "0.2"'))
    done = claims(small, *again)
    assert (done.returncode, "`does-not` that was measured under another rule" in done.stderr) == (2, True), done.stderr
    done = claims(small, *asked, "one.json")  # asks what has another rule, and no other
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["does-not", "away"]


def test_a_changed_file_is_told_and_ends_with_1(small: Path) -> None:
    text = (small / "register.toml").read_text()
    digest = text.split('"pack.py" = "')[1][:64]
    (small / "register.toml").write_text(text.replace(digest, "0" * 64))
    asked = ("--root", "clones", "--register", "register.toml", "--to", "x.json", "--only", "holds")
    done = claims(small, "repeat", *asked)
    assert (done.returncode, "SHA-256" in done.stdout) == (1, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("repeat", "--root", "nowhere", "--to", "x.json"), "no folder"),
        (("repeat", "--root", ".", "--to", "x.json", "--only", "hods", "--register", "register.toml"), "`holds`"),
        (("list", "--register", "clones"), "cannot be read"),
        (("page", "register.toml", "--to", "x.md"), "holds no results"),
    ],
)
def test_bad_input(small: Path, words: tuple[str, ...], said: str) -> None:
    done = claims(small, *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_register_says_where(small: Path) -> None:
    (small / "register.toml").write_text(
        (small / "register.toml").read_text().replace('differs = ["all of it"]', "differs = []")
    )
    with pytest.raises(UsageError, match="differs"):
        register.read(small / "register.toml")


def test_the_register_that_ships_names_what_it_reads() -> None:
    found = register.read()
    for claim in found.claim:
        options = found.options_of(claim)
        source = found.sources[options["source"]]
        for key in ("path", "program", "table"):
            assert options.get(key) is None or options[key] in source.files, claim.id
        assert claim.said or claim.asked
    assert {claim.id for claim in found.claim if "AlphaEvolve" in claim.by}


def test_the_page_that_ships_follows_from_its_figures() -> None:
    found = register.read()
    kept = results.read(SHOWN.with_suffix("") / "results.json", found)
    assert page.page(found, kept) == SHOWN.read_text(encoding="utf-8")


@pytest.mark.skipif(not CLONES, reason="TRACEBENCH_CLONES names no folder of clones, OWNER+NAME each")
def test_the_authors_own_files_give_the_figures_that_ship(tmp_path: Path) -> None:
    """What needs no library of theirs, from the real trees: exact figures are equal to the last digit."""
    found = register.read()
    kept = results.read(SHOWN.with_suffix("") / "results.json", found)
    exact = [c.id for c in found.claim if c.how.startswith(("itemwise:", "packings:of_"))]
    done = claims(
        tmp_path, "repeat", "--root", CLONES, "--to", "x.json", *(w for one in exact for w in ("--only", one))
    )
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "x.json").read_text())["claims"]
    assert len(exact) > 10
    assert again == {name: kept["claims"][name] for name in exact}
