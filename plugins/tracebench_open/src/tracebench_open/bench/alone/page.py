"""The page that figures give, and the command that compares one with its receipts."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tracebench_open.bench.alone.receipts import Data, Receipt, WrongError, promises, read, root_of, secrets
from tracebench_open.bench.alone.sums import figures
from tracebench_open.bench.alone.what_if import WHAT_IF, what_if

ABOUT = """Checks a page of the open bench against its receipts with Python's standard library alone, whatever else is installed.

FOLDER holds `bench.json`, `registration.json` and a ZIP for each run. This file sees that the registration has the head it tells; that each
run's journal is an unbroken chain to the head on the page; that every result is the one that the journal sealed; that the runs hold the
promised jobs, each once, and no other, and began after the promise; that each job's calls and USD are those of the sealed ledger; that the
fields' secret is the one that was committed to. Then it computes every figure again and compares the pages letter by letter. It exits
with 0 when all of it is so, and else with 1 and a line for each thing that is not.
"""


MARK = " †"
CHOSEN = (
    "† has no test split: its scores, also that of the initial candidate, are those on the examples that winners were chosen on. They say "
    "what was found there, and not whether it holds on others."
)


def signed(value: float | None, places: int = 3) -> str:
    """Return a number with its sign; never a negative nothing."""
    return "" if value is None else f"{value + 0.0:+.{places}f}".replace(f"-{0:.{places}f}", f"+{0:.{places}f}")


def plain(value: float, places: int = 3) -> str:
    """Return a number; never a negative nothing."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def within(one: Data, places: int = 3) -> str:
    """Return an interval in brackets."""
    return "" if one["low"] is None else f" [{signed(one['low'], places)}, {signed(one['high'], places)}]"


def word(one: Data, alpha: float) -> str:
    """Return whether a difference is told apart."""
    if one["holm"] > alpha:
        return "not resolved"
    return "better" if one["estimate"] > 0 else "worse"


def page(bench: Data, found: Mapping[str, Data], root: str) -> str:
    """Return the page of results."""
    lines = [*bench["words"]["head"], ""]
    for part in bench["parts"]:
        lines += [*section(part, found[part["name"]], bench), ""]
    lines += [*summary(bench, found), "", *bench["words"]["tail"], "", *proof(bench, root)]
    return "\n".join(lines) + "\n"


def section(part: Data, one: Data, bench: Data) -> Iterator[str]:
    """Yield the tables of one run."""
    reference, alpha = bench["reference"], bench["alpha"]
    yield f"## {part['title']}"
    yield ""
    yield from part["words"]
    yield ""
    yield (
        f"Every figure of this section is of one run: [its receipt]({bench['folder']}/{part['file']}), `{part['run_id']}`, journal head "
        f"`{part['head'][:16]}`; {sum(e['jobs'] for e in one['ended'].values())} jobs."
    )
    yield ""
    short = [f"`{t.rpartition(':')[2].rpartition('/')[2]}`{MARK * (t in one['selected'])}" for t in one["tasks"]]
    order = sorted(one["means"], key=lambda n: one["ranks"]["ranks"][n] if one["ranks"] else 0)
    yield "| optimizer | " + " | ".join(short) + " | mean rank |"
    yield "|---|" + "---|" * (len(short) + 1)
    for name in order:
        cells = [f"{plain(one['means'][name][t]['estimate'])} ±{half(one['means'][name][t])}" for t in one["tasks"]]
        rank = plain(one["ranks"]["ranks"][name], 2) if one["ranks"] else ""
        yield f"| {name} | {' | '.join(cells)} | {rank} |"
    for name, by in sorted(one["apart"].items()):
        cells = [f"{plain(by[t]['estimate'])} ±{half(by[t])}" if t in by else "" for t in one["tasks"]]
        yield f"| {name} | {' | '.join(cells)} | |"
    yield f"| (initial) | {' | '.join('' if x is None else plain(x) for x in (one['initial'][t] for t in one['tasks']))} | |"
    yield ""
    if one["selected"]:
        yield CHOSEN
        yield ""
    yield from rank_words(one, order)
    yield ""
    yield f"Minus `{reference}`, paired by seed, with 95 % intervals; `better` and `worse` after Holm over all cells of the table:"
    yield ""
    with_all = one["overall"] is not None
    yield f"| optimizer | {' | '.join(short)} |" + (" all of them |" if with_all else "")
    yield "|---|" + "---|" * (len(short) + with_all)
    for name in order:
        if name in one["against"]:
            differences = [one["against"][name][t] for t in one["tasks"]] + ([one["overall"][name]] if with_all else [])
            told = [f"{signed(c['estimate'])}{within(c)} {word(c, alpha)}" for c in differences]
            yield f"| {name} | {' | '.join(told)} |"
    yield ""
    yield from uses(one, order)


def half(one: Data) -> str:
    """Return the half width of an interval."""
    return "?" if one["low"] is None else plain((one["high"] - one["low"]) / 2)


def rank_words(one: Data, order: Sequence[str]) -> Iterator[str]:
    """Yield what the ranks tell, and what they do not."""
    if not one["ranks"]:
        yield "Too few optimizers or tasks for ranks."
        return
    told, critical = one["ranks"], one["ranks"]["critical"]
    first = told["ranks"][order[0]]
    level = [n for n in order[1:] if told["ranks"][n] - first < critical]
    apart = [n for n in order[1:] if told["ranks"][n] - first >= critical]
    yield (
        f"Ranks over {told['blocks']} blocks: critical difference {plain(critical, 2)} (Nemenyi, 5 %), Friedman p = {told['p']:.2g}. "
        f"First is {order[0]}; **not resolved** from it: {', '.join(level) or 'none'}. Behind it: {', '.join(apart) or 'none'}."
    )


def uses(one: Data, order: Sequence[str]) -> Iterator[str]:
    """Yield what the jobs used."""
    yield "| optimizer | jobs with a score | calls a job | evaluations a job | USD a job | seconds a job |"
    yield "|---|---|---|---|---|---|"
    for name in [*order, *(n for n in one["ended"] if n not in order)]:
        e = one["ended"][name]
        if not e["run"]:
            yield f"| {name} | none: it says that these tasks are not for it | | | | |"
            continue
        yield (
            f"| {name} | {e['scored']} of {e['run']} | {plain(e['llm_calls'], 1)} | {plain(e['evaluations'], 1)} | "
            f"{plain(e['usd'], 5)} | {plain(e['seconds'], 2)} |"
        )


def summary(bench: Data, found: Mapping[str, Data]) -> Iterator[str]:
    """Yield what all of it cost."""
    calls = sum(one["spent"]["llm_calls"] for one in found.values())
    usd = math.fsum(one["spent"]["usd"] for one in found.values())
    jobs = sum(e["jobs"] for one in found.values() for e in one["ended"].values())
    hours = math.fsum(one["seconds"] for one in found.values()) / 60
    yield "## What all of it cost"
    yield ""
    yield (
        f"{jobs} jobs, {calls} model calls, {plain(usd, 4)} USD at the prices stated above (nobody was paid: the model is a script), "
        f"{plain(hours, 1)} minutes of jobs, {plain(bench['seconds'] / 60, 1)} minutes on the clock."
    )
    yield ""
    if bench["not_run"]:
        yield f"**Promised and not run: {bench['not_run']} jobs**, whole parts of which no job was begun."
        yield ""
    if "prices" in bench:
        yield f"[Other budgets and prices]({bench['folder']}/{WHAT_IF}): the same runs, cut short or paid for otherwise, by sliders."
        yield ""
    yield f"Machine: {bench['machine']}. Versions: {', '.join(bench['versions'])}. Commit: `{bench['commit']}`."


def proof(bench: Data, root: str) -> Iterator[str]:
    """Yield how the page is checked."""
    release = bench["release"]
    fields = (
        ""
        if release is None
        else f"Fields: release `{release['name']}`, commitment `{release['commitment']}`, "
        f"secret given away with this page: `{release['secret']}`. "
    )
    yield "## Check it"
    yield ""
    yield "```console"
    folder = bench["folder"]
    for words in (["python3", "-I", "-S", f"{folder}/check.py"], ["trace-bench", "open-bench", "verify"]):
        yield " ".join(["$", *words, folder, "--page", f"{folder}.md"])
    yield "```"
    yield ""
    yield (
        f"The first needs nothing but Python 3.11, the second computes every figure with the bench's own library. Head of the "
        f"registration, written before the first call: `{bench['registration']}`. {fields}Root of all receipts: `{root}`."
    )


def beside(folder: Path, bench: Data, receipts: Mapping[str, Receipt]) -> Iterator[str]:
    """Yield where the page with sliders is not what the receipts give; pages of earlier versions have none."""
    if "prices" not in bench:
        if (folder / WHAT_IF).exists():
            yield f"{WHAT_IF} is of no page of this version: bench.json tells no prices"
        return
    try:
        told = (folder / WHAT_IF).read_text(encoding="utf-8")
    except (OSError, ValueError) as err:
        yield f"{WHAT_IF}: it cannot be read: {err}"
        return
    if told != what_if(bench, receipts):
        yield f"{WHAT_IF} is not what the receipts give"


def say(words: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{words}\n")


def main() -> int:
    """Check, and say what was found."""
    parser = argparse.ArgumentParser(description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", type=Path, help="the page; left out, the receipts alone are checked")
    parser.add_argument("--head", help="of the registration, as it was published before the first call")
    parser.add_argument("--root", help="of the receipts, as somebody kept it")
    asked = parser.parse_args()
    try:
        wrong, so = checked(asked.folder, asked.page, head=asked.head, root=asked.root)
    except (
        OSError,
        WrongError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as err:
        wrong, so = [f"{asked.folder}: these are no receipts of the open bench, or not its page: {err!r}"], ""
    for line in wrong or [so]:
        say(line)
    return int(bool(wrong))


def checked(folder: Path, told: Path | None, *, head: str | None, root: str | None) -> tuple[list[str], str]:
    """Return whatever of the receipts, and of a page, is not so, and in a line what was found to be so."""
    bench, receipts, wrong = read(folder)
    own = root_of(folder, bench)
    wrong += promises(bench, receipts.values(), (folder / "registration.json").read_bytes(), head)
    wrong += secrets(bench, receipts.values())
    if root is not None and root != own:
        wrong.append(f"the root of these receipts is {own}, which is not the one that was kept")
    if told is not None and not wrong:
        found = {name: figures(receipt, bench["reference"]) for name, receipt in receipts.items()}
        wrong += differing(told.read_text(encoding="utf-8"), page(bench, found, own))
        wrong += beside(folder, bench, receipts)
    return wrong, f"All of it is so: {len(receipts)} runs, registration {bench['registration'][:16]}, root {own[:16]}."


def differing(told: str, computed: str) -> Iterator[str]:
    """Yield where a page tells other figures than its receipts."""
    left, right = told.splitlines(), computed.splitlines()
    for number in range(max(len(left), len(right))):
        a, b = (lines[number] if number < len(lines) else "(no line)" for lines in (left, right))
        if a != b:
            yield f"line {number + 1} of the page is not what the receipts give:\n  page:     {a}\n  computed: {b}"


if __name__ == "__main__":
    sys.exit(main())
