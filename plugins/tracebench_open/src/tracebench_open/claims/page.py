"""The page of public claims, from the register and what was found: every verdict is computed again from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tracebench_open.claims.law import Found, Verdict
from tracebench_open.claims.register import Claim, Register
from tracebench_open.claims.results import found_of

ABOUT = """\
# Public claims, asked again

What authors of optimizers said of results, measured again from the files that they published, without a paid model. To publish programs and
records, and not figures alone, is what makes this possible: a claim stands here because its authors let others check it.

**Each claim has a rule that stands beforehand**: what is measured, and the region that it claims. An interval inside the region confirms
it, one outside refutes it *at this setting*, any other resolves nothing. *Refuted at this setting* says that our figure, measured as its
row tells, is not the one that was claimed. It does not say that the authors did not see it: what differs stands beside.

* The verdict is on the region of its row, which may be less than was said: of a speed-up it is asked whether the program is faster at
  all, of a gain whether there is one.
* Intervals are of 95 %, each for itself: they are not widened for the number of claims.
* A packing is judged in rationals, and where its figure is exact there is no interval.
* Other people's programs run in the sandbox `strong`, each seed in a process of its own. Nothing of them is copied into this repository:
  files are read from clones at a commit, and held to their SHA-256.
* Rules were written after an earlier look at the same files, which had seen most of the figures; the others are marked *unseen*. Each
  figure carries a digest over its rule, seeds, files and code, so that none is changed after it was measured; the head below is of all.
  That is no proof that nobody knew what would come out."""
OURS: Mapping[Verdict, str] = {
    "confirmed": "yes",
    "not resolved": "not resolved",
    "refuted at this setting": "no, at this setting",
}
"""Words for questions that nobody has claimed an answer to."""


def page(register: Register, kept: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n".join(_lines(register, kept)) + "\n"


def words_of(claim: Claim, kept: Mapping[str, Any]) -> str:
    """Return the verdict on a claim, or that it could not be asked."""
    if "absent" in kept:
        return "not asked here"
    verdict = claim.judge(found_of(kept))
    return verdict if claim.said else OURS[verdict]


def figure(claim: Claim, found: Found) -> str:
    """Return a figure with its interval."""
    unit = f" {claim.unit}" if claim.unit else ""
    if found.low == found.high:
        return f"{_shown(found.estimate, claim)}{unit}, exact"
    if found.low is not None and found.high is None and found.low == found.estimate:
        return f"{_shown(found.estimate, claim)}{unit} or more"
    return f"{_shown(found.estimate, claim)}{unit} [{_shown(found.low, claim)}, {_shown(found.high, claim)}]"


def _lines(register: Register, kept: Mapping[str, Any]) -> Iterator[str]:
    yield ABOUT
    yield ""
    yield "## Claims"
    yield ""
    yield from _table([claim for claim in register.claim if claim.said], kept, said=True)
    yield "## Questions of ours"
    yield ""
    yield "Nobody has claimed an answer to these. They are about what was published, too."
    yield ""
    yield from _table([claim for claim in register.claim if not claim.said], kept, said=False)
    yield "## What could not be asked"
    yield ""
    yield from _table_of(["said", "where", "why not"], [[one.said, one.where, one.why] for one in register.not_asked])
    yield "## Each of them"
    yield ""
    for claim in register.claim:
        yield from _details(claim, kept["claims"].get(claim.id, {"absent": "it was not measured"}))
    yield from _sources(register)
    yield from _again(register, kept)


def _table(claims: Sequence[Claim], kept: Mapping[str, Any], *, said: bool) -> Iterator[str]:
    rows = []
    for claim in claims:
        found = kept["claims"].get(claim.id, {"absent": ""})
        shown = "" if "absent" in found else figure(claim, found_of(found))
        first = claim.said if said else claim.asked
        rows.append([
            f"[{claim.id}](#{claim.id})", claim.by, first, _region(claim), shown, f"**{words_of(claim, found)}**"
        ])  # fmt: skip
    ours = ["question", "of", "asked", "yes where it is", "found", "answer"]
    heads = ["claim", "by", "said, in short", "confirmed where it is", "found", "verdict"] if said else ours
    yield from _table_of(heads, rows)


def _details(claim: Claim, kept: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {claim.id}"
    yield ""
    said = f"{claim.by}: *{claim.said}*" if claim.said else f"A question of ours about {claim.by}"
    yield f"{said} ({claim.where})."
    yield ""
    word = "Confirmed" if claim.said else "Yes"
    yield f"{claim.asked} {word} where it is {_region(claim)}.{'' if claim.seen else ' *Unseen.*'}"
    yield ""
    if "absent" in kept:
        yield f"**Not asked here**: {_cell(kept['absent'])}"
        yield ""
    else:
        yield f"**{words_of(claim, kept).capitalize()}**: {figure(claim, found_of(kept))}. {' '.join(kept['told'])}".rstrip()
        yield ""
        if kept["rows"]:
            if kept["rows"][0].get("packing") == "best draw":
                yield "Of the draws that hold at this tolerance, or of all where none does:"
                yield ""
            heads = [*kept["rows"][0]]
            yield from _table_of(
                heads, [[str("" if row[h] is None else row[h]) for h in heads] for row in kept["rows"]]
            )
    yield "What differs:"
    yield ""
    yield from (f"* {one}" for one in claim.differs)
    if kept.get("versions"):
        yield f"* Here it ran with {', '.join(f'{name} {number}' for name, number in kept['versions'].items())}."
    yield ""


def _region(claim: Claim) -> str:
    unit = f" {claim.unit}" if claim.unit else ""
    if claim.at_least is not None and claim.at_most is not None:
        return f"from {claim.at_least} to {claim.at_most}{unit}"
    if claim.at_least is not None:
        return f"above {claim.at_least}{unit}" if claim.above else f"{claim.at_least}{unit} or more"
    return f"{claim.at_most}{unit} or less"


def _sources(register: Register) -> Iterator[str]:
    yield "## Sources"
    yield ""
    rows = [
        [f"`{s.repository}`", f"`{s.commit[:12]}`", s.licence, str(len(s.files) + len(s.folders))]
        for s in register.source
    ]
    yield from _table_of(["repository", "commit", "licence", "files or folders that are pinned"], rows)


def _again(register: Register, kept: Mapping[str, Any]) -> Iterator[str]:
    yield "## Ask again"
    yield ""
    yield "`CLONES` is a folder of clones, `OWNER+NAME` each; `PYTHON` has numpy, SciPy, NetworkX, pandas and JAX."
    yield "What is missing is said, and left out."
    yield ""
    yield "```sh"
    yield "trace-bench open-bench claims list"
    yield "trace-bench open-bench claims repeat --root CLONES --python PYTHON --to results.json"
    yield "trace-bench open-bench claims page results.json --to public-claims.md"
    yield "```"
    yield ""
    yield "Figures of this page: [results.json](public-claims/results.json)."
    yield f"Machine: {kept['machine']}. Head of the register: `{register.head()}`."


def _table_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _shown(value: float | Fraction | None, claim: Claim) -> str:
    if value is None:
        return "?"
    return f"{value:.{claim.digits}f}" if isinstance(value, float) else _rounded(value, claim.digits)


def _rounded(value: Fraction, digits: int) -> str:
    whole = round(value * 10**digits)
    sign, text = "-" if whole < 0 else "", str(abs(whole)).rjust(digits + 1, "0")
    return sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)
