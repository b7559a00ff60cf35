"""The markup of published pages: a page, a table that can be filtered, facts. Whatever a run holds stands in it as text."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from tracebench_viewer.look import NOTHING
from tracebench_viewer.publishing.packing import packed
from tracebench_viewer.shown import visible

POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-eval'; style-src 'self' file: 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Nothing is asked of anybody: scripts and styles are the site's own. Vega compiles its expressions, hence `unsafe-eval`."""
MENU = (("index.html", "Runs"), ("compare.html", "Compare"), ("failures.html", "Failures"))
LONG = 60
"""Characters of a cell, from which on it is broken into lines."""
NUMERIC = ' class="num"'
UNNAMED = "(no name)"


class Cell(NamedTuple):
    """A cell of a table: its text, where it leads, and what it is sorted by, if not by its text."""

    text: str
    link: str = ""
    key: str = ""


def text(value: object) -> str:
    """Return a value as text that stands in markup."""
    return html.escape(visible(str(value)))


def page(
    title: str,
    parts: Iterable[str],
    *,
    depth: int,
    data: Mapping[str, Any] | None = None,
    script: bool = True,
) -> str:
    """Return a page that lies `depth` folders below the site's root. `data` is what its script draws from."""
    up = "../" * depth
    menu = "".join(f'<a href="{up}{file}">{words}</a>' for file, words in MENU)
    names = ("page.css", "charts.css", "diff.css", "site.css")
    styles = "".join(f'<link rel="stylesheet" href="{up}assets/{name}">' for name in names)
    sources = (
        (*(("vega.js",) if data and data.get("charts") else ()), "charts.js", "diff.js", "site.js") if script else ()
    )
    scripts = "".join(f'<script src="{up}assets/{name}"></script>' for name in sources)
    told = "" if data is None else f'<script type="application/octet-stream" id="packed">{packed(data)}</script>'
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">{styles}</head>\n'
        f'<body><header><strong>Trace-Bench</strong><nav aria-label="Pages">{menu}</nav></header>\n'
        f"<main><h1>{text(title)}</h1>{''.join(parts)}</main>\n{told}{scripts}</body></html>\n"
    )


def facts(told: Iterable[tuple[str, str]]) -> str:
    """Return some values with what they are."""
    return '<dl class="facts">' + "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in told) + "</dl>"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell | str | float | None]],
    *,
    caption: str,
    choose: Iterable[str] = (),
    plain: bool = False,
) -> str:
    """Return a table; unless it is `plain`, a script sorts it, and filters it by words and by the columns to `choose` from."""
    chosen = {*choose}
    kind = "" if plain else ' class="list"'
    lines = [*rows]
    numbers = [not isinstance(cell, str | Cell) for cell in lines[0]] if lines else [False] * len(headers)
    head = "".join(
        f'<th scope="col"{NUMERIC if is_number else ""}{" data-choose" if header in chosen else ""}>{text(header)}</th>'
        for header, is_number in zip(headers, numbers, strict=True)
    )
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in lines)
    return (
        f'<div class="wide"><table{kind}><caption class="note">{text(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def long_text(words: str) -> str:
    """Return text of many lines."""
    return f'<pre tabindex="0">{text(words)}</pre>' if words else ""


def section(title: str, *parts: str, note: str = "") -> str:
    """Return parts under a heading; nothing where there is none."""
    told = f'<p class="note">{text(note)}</p>' if note else ""
    return f"<h2>{text(title)}</h2>{told}{''.join(parts)}" if any(parts) else ""


def charts(places: Mapping[str, str]) -> str:
    """Return the places that charts are drawn into, by the id of each, with what it shows."""
    drawn = "".join(
        f'<figure><figcaption>{text(caption)}</figcaption><div id="{name}"></div></figure>'
        for name, caption in places.items()
    )
    return f'<div class="charts">{drawn}</div>' if drawn else ""


def address(*names: str) -> str:
    """Return a path in the site as it stands in a link."""
    return "/".join(quote(os.fsencode(name), safe="") for name in names)


def number(value: float | None) -> Cell:
    """Return a number as a cell; a dash for what is not known, which is sorted last."""
    if value is None:
        return Cell(NOTHING, key="")
    return Cell(f"{value:,.0f}" if isinstance(value, int) else f"{value:.5g}", key=repr(value))


def _cell(cell: Cell | str | float | None) -> str:
    made = cell if isinstance(cell, Cell) else Cell(cell) if isinstance(cell, str) else number(cell)
    is_number = not isinstance(cell, str | Cell)
    kind = NUMERIC if is_number else ' class="long"' if len(made.text) > LONG else ""
    key = f' data-value="{html.escape(made.key)}"' if made.key or is_number or made.text == NOTHING else ""
    words = text(made.text if made.text.strip() or not made.link else UNNAMED)
    return f"<td{kind}{key}>" + (f'<a href="{html.escape(made.link)}">{words}</a>' if made.link else words) + "</td>"
