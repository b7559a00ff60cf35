"""One page that tells one run: the verdict, the curves, how the best candidate came about by a slider, what changed in it, and the cost.

One file that opens from disk and asks the network for nothing. It draws by itself and needs no chart library.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path as FilePath
from typing import NamedTuple

from tracebench_analysis.comparison.sentences import next_step, verdict_sentence
from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.figures.plots import curve_rows
from tracebench_analysis.figures.tracks import Tracks
from tracebench_analysis.figures.views import best_jobs
from tracebench_analysis.report.html import PAGE_STYLE, embedded, table
from tracebench_analysis.report.lines import is_cut, lines_svg
from tracebench_analysis.report.sections import amount, brief_leaderboard, number
from tracebench_analysis.report.viewed import data_uri
from tracebench_core.specs import Candidate
from tracebench_core.specs.events import BestChanged
from tracebench_runs.reading.reader import Run

LONGEST = 20_000
"""Characters of a candidate that are shown."""
MOST = 200
"""Candidates that are shown: the first, the last, and those between by equal steps."""


class Led(NamedTuple):
    """A candidate that was the best for a while."""

    candidate: str
    score: float
    evaluations: int
    text: str
    picture: str | bytes | None


class Path(NamedTuple):
    """A job's path."""

    job_id: str
    led: list[Led]
    """Those that are shown."""
    total: int
    """How many led."""
    initial: str
    """The candidate that was there first."""
    parent: tuple[str, str] | None
    """What the best candidate was made from, as id and text; None where that is not known."""
    best: tuple[str, str]


def path_of(run: Run, job_id: str, pictures: Mapping[str, str | bytes]) -> Path | None:
    """Return how a job came to its best candidate; None where it never measured one. `pictures` are by candidate.

    The last of the path is the leader of training; the best is who won the engine's own measurement, and may be another one.
    """
    candidates = {candidate.id: candidate for candidate in run.candidates_of(job_id)}
    points: dict[str, tuple[float, int]] = {}
    for event in run.events(job_id):
        if isinstance(event, BestChanged) and event.candidate in candidates:
            began = points.pop(event.candidate, (0.0, event.used.evaluations))[1]
            points[event.candidate] = event.score, began
    if not points:
        return None
    names = [*points]
    count = len(names)
    names = [names[round(i * (len(names) - 1) / (MOST - 1))] for i in range(MOST)] if len(names) > MOST else names
    led = [Led(name, *points[name], text_of(candidates[name]), pictures.get(name)) for name in names]
    best = candidates.get(run.results[job_id].best_candidate or names[-1], candidates[names[-1]])
    parent = candidates.get(best.parents[0]) if best.parents else None
    made_from = None if parent is None else (parent.id, text_of(parent))
    return Path(job_id, led, count, next(iter(candidates)), made_from, (best.id, text_of(best)))


def text_of(candidate: Candidate) -> str:
    """Return a candidate as text: its only value as it is, several with their names."""
    if len(candidate.values) == 1:
        (value,) = candidate.values.values()
        whole = value if isinstance(value, str) else json.dumps(value)
    else:
        whole = "\n".join(f"{k} = {v if isinstance(v, str) else json.dumps(v)}" for k, v in candidate.values.items())
    shown = whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}\n… {len(whole) - LONGEST} more characters"
    return shown.encode("utf-8", "replace").decode()  # half of a character cannot be written


_HERE = FilePath(__file__).parent
STYLE = PAGE_STYLE + (_HERE / "story.css").read_text()
SCRIPT = (_HERE / "story.js").read_text()
"""Moves the slider's candidates, and draws what lies between two pictures of the same shapes."""


class About(NamedTuple):
    """What a page is told beside its run."""

    title: str
    task: str
    """What is optimised, in a sentence or more."""
    notes: Sequence[str]
    """Where the answers are from, and what else must be said before any figure."""
    commands: Sequence[tuple[str, str]]
    """What to type next, and what it does."""


def render_story(
    run: Run, comparison: Comparison, about: About, *, pictures: Mapping[str, Mapping[str, str | bytes]]
) -> str:
    """Return the page. `pictures` are by job and candidate: one example as each of them solved it."""
    jobs = sorted(best_jobs(run), key=lambda job_id: not pictures.get(job_id))
    path = next((found for job_id in jobs if (found := path_of(run, job_id, pictures.get(job_id, {})))), None)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in about.notes)
    step = next_step(comparison)
    commands = "".join(
        f"<li>{html.escape(words)}:<code>{html.escape(command)}</code></li>" for command, words in about.commands
    )
    curves = _curves(run, comparison)
    path_shown = "" if path is None else _slider(run, path)
    parts = [
        f"<h1>{html.escape(about.title)}</h1><p>{html.escape(about.task)}</p>",
        f'<p class="verdict">{html.escape(verdict_sentence(comparison))}</p>',
        f'<div class="beside"><div>{curves}</div><div>{path_shown}</div></div>',
        *((_text(path), _changes(path)) if path is not None else ()),
        _cost(run, comparison),
        f'<h2>What was run</h2><ul class="note">{notes}{f"<li>{html.escape(step)}</li>" if step else ""}</ul>',
        f'<h2>What to type next</h2><ul class="commands">{commands}</ul>',
    ]
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(about.title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><main>{''.join(part for part in parts if part)}</main>\n<script>{SCRIPT}</script></body></html>\n"
    )


def _digest(text: str) -> str:
    """Return what names an inline script or style in the page's policy: no other may act, whatever a candidate holds."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _curves(run: Run, comparison: Comparison) -> str:
    rows = curve_rows(Tracks([run], comparison.outcomes), comparison, ["evaluations"])
    if not rows:
        return ""
    drawn = lines_svg(rows, across="evaluations", up="gain over the initial candidate, against evaluations")
    told = (
        "How good the best candidate is after so many evaluations: 0 is the initial candidate, 1 the best that any job found. "
        "Lines are means over seeds, bands their 95 % intervals."
    )
    told += " Where a band is wider than the picture, it is cut off." if is_cut(rows) else ""
    return f'<h2>Who finds better candidates</h2>{drawn}<p class="note">{html.escape(told)}</p>'


def _slider(run: Run, path: Path) -> str:
    job = run.job(path.job_id)
    steps = [
        {
            "told": _told(path, i),
            "after": led.evaluations,
            "text": marked(before.text, led.text)[1],
            "picture": _shown(led.picture),
        }
        for i, (before, led) in enumerate(zip([path.led[0], *path.led], path.led, strict=False))
    ]
    pictures = [led.picture for led in path.led if led.picture is not None]
    last = html.escape(_told(path, len(steps) - 1))
    drawn = f'<img alt="{last}" src="{data_uri(pictures[-1])}">' if pictures else ""
    frame = f'<div class="picture" id="picture">{drawn}</div>' if pictures else ""
    shown = "every candidate" if path.total == len(path.led) else f"{len(path.led)} of {path.total} candidates"
    words = f"{job.called} on {job.task_id}, seed {job.seed}: {shown} that led for a while."
    return (
        f'<h2>How the best one came about</h2><p class="slide"><button type="button" id="play">Play</button>'
        f'<input type="range" id="at" min="0" max="{len(steps) - 1}" step="0.02" value="{len(steps) - 1}" '
        f'aria-label="from the first candidate that led to the last"></p>'
        f'<p id="told" class="told" aria-live="polite">{last}</p>{frame}<p class="note">{html.escape(words)}</p>'
        f'<script type="application/json" id="steps">{embedded(steps)}</script>'
    )


def _text(path: Path) -> str:
    """Return the candidate at which the slider stands, with the words that are new in it."""
    text = marked(path.led[-2].text, path.led[-1].text)[1] if len(path.led) > 1 else html.escape(path.led[-1].text)
    note = "Marked: what is new in it, compared with the candidate that led before. The slider and Play move it."
    return (
        f'<h2>The candidate at the slider</h2><p class="note">{note}</p>'
        f'<pre id="text" tabindex="0" role="group" aria-label="the candidate at the slider">{text}</pre>'
    )


def _told(path: Path, position: int) -> str:
    led = path.led[position]
    when = f"after {led.evaluations} evaluation{'' if led.evaluations == 1 else 's'}"
    what = "the initial candidate" if led.candidate == path.initial else "candidate"
    return f"{position + 1} of {len(path.led)}: {what} {led.candidate} scored {led.score:.6g}, {when}."


def _shown(picture: str | bytes | None) -> dict[str, str] | None:
    """Return a picture as the page's script takes it: markup that was found harmless, or an address that holds an image."""
    if picture is None:
        return None
    return {"svg": picture} if isinstance(picture, str) else {"image": data_uri(picture)}


def _changes(path: Path) -> str:
    best, new = path.best
    if best == path.initial:
        return "<h2>Best candidate</h2><p>The initial candidate was not improved.</p>"
    if path.parent is None:
        return (
            f'<h2>Best candidate</h2><p class="note">best {html.escape(best)}; what it was made from is not recorded</p>'
            f'<pre tabindex="0" role="group" aria-label="the best candidate">{html.escape(new)}</pre>'
        )
    parent, old = path.parent
    left, right = marked(old, new)
    sides = (("parent", parent, left), ("best", best, right))
    beside = "".join(
        f'<div><p class="note">{what} {html.escape(name)}</p><pre tabindex="0" role="group" aria-label="{what}">{text}</pre></div>'
        for what, name, text in sides
    )
    return f'<h2>Best candidate beside its parent</h2><div class="beside">{beside}</div>'


def _cost(run: Run, comparison: Comparison) -> str:
    board = table(brief_leaderboard(comparison)) if comparison.summaries else ""
    spent = run.spent()
    if spent is None or not spent["by"]:
        return board
    total = spent["total"]
    tokens = total["prompt_tokens"] + total["completion_tokens"]
    usd = "at an unknown price" if total["usd"] is None else f"{number(total['usd'])} USD"
    return f"{board}<p>Cost of all jobs together: {amount(total['llm_calls'])} model calls, {amount(tokens)} tokens, {usd}.</p>"


WORDS = re.compile(r"\w+(?:\.\w+)*|\s+|[^\w\s]")
MOST_WORDS = 3_000
"""Words of changed lines that are compared with one another; of more the lines are marked whole."""


def marked(before: str, after: str) -> tuple[str, str]:
    """Return both texts as HTML, escaped, with `<del>` in the first and `<ins>` in the second."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    left, right = [], []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        one, other = "".join(old[a:b]), "".join(new[c:d])
        if kind == "equal":
            left.append(html.escape(one))
            right.append(html.escape(other))
        else:
            taken, given = _by_word(WORDS.findall(one), WORDS.findall(other))
            left.append(taken)
            right.append(given)
    return "".join(left), "".join(right)


def _by_word(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    if len(old) + len(new) > MOST_WORDS:
        return _wrapped("del", old), _wrapped("ins", new)
    left, right = [], []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = kind == "equal"
        left.append(html.escape("".join(old[a:b])) if same else _wrapped("del", old[a:b]))
        right.append(html.escape("".join(new[c:d])) if same else _wrapped("ins", new[c:d]))
    return "".join(left), "".join(right)


def _wrapped(tag: str, words: Sequence[str]) -> str:
    return f"<{tag}>{html.escape(''.join(words))}</{tag}>" if words else ""
