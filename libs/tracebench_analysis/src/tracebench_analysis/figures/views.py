"""Views that plugins offer for their suites' runs and jobs, as plain data that a report, a screen or a file can show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from tracebench_core.plugins import Catalog, load_ref
from tracebench_core.specs import ViewSpec
from tracebench_runs.meta.planned import kinds_of
from tracebench_runs.reading.reader import Run

LONGEST = 10_000
"""Rows of a table that are shown."""


class Shown(NamedTuple):
    """One view, ready to be drawn."""

    name: str
    title: str
    kind: str
    content: Any
    """By kind: `columns` a dict of lists, `chart` Vega-Lite as a dict, `picture` harmless SVG as text or an image's bytes,
    `frames` a list of pairs of a candidate and a picture, `page` a function that draws with Streamlit. None where there is a problem."""
    problem: str
    """Why there is no content, empty when there is."""


def build_views(catalog: Catalog, run: Run, job_id: str | None, *, kinds: Iterable[str] = ()) -> Iterator[Shown]:
    """Yield the views of a job, or of a whole run, by name; one that has nothing to show is passed over, one that fails says so.

    `kinds` are those wanted, all when empty.
    """
    suites = {job.suite for job in kinds_of(run.planned)} if job_id is None else {run.job(job_id).suite}
    for name, spec in sorted(catalog.components["view"].items()):
        if not isinstance(spec, ViewSpec) or (kinds and spec.kind not in kinds):
            continue
        if not spec.suites or suites & {*spec.suites}:
            shown = _build(catalog.origin.get(("view", name), "?"), spec, run, job_id)
            if shown is not None:
                yield shown


def best_jobs(run: Run) -> list[str]:
    """Return the job with the best score on validation of every task, in plan order; tasks without a score are left out."""
    best: dict[str, tuple[float, str]] = {}
    for job_id, brief in run.briefs.items():
        score = brief.score_val_best
        if score is not None and (brief.task_id not in best or score > best[brief.task_id][0]):
            best[brief.task_id] = score, job_id
    return [job_id for _, job_id in best.values()]


def _build(owner: str, spec: ViewSpec, run: Run, job_id: str | None) -> Shown | None:
    title = spec.title or spec.name
    try:
        made = load_ref(spec.loader, owner=owner)(run, job_id)
        content = None if made is None else _plain(spec.kind, made)
    except (Exception, SystemExit) as err:  # noqa: BLE001 - a plugin's code may raise anything
        problem = f"`{spec.name}` of `{owner}` failed: {type(err).__name__}: {err}"
        return Shown(spec.name, title, spec.kind, None, problem)
    return None if content is None else Shown(spec.name, title, spec.kind, content, "")


def _plain(kind: str, made: Any) -> Any:
    match kind:
        case "columns":
            table = made.to_dict("list") if hasattr(made, "to_dict") else made
            return {str(name): _column(values) for name, values in dict(table).items()}
        case "chart":
            return dict(made) if isinstance(made, Mapping) else made.to_dict(validate=False)
        case "picture":
            return _picture(made)
        case "frames":
            return [(str(candidate), _picture(picture)) for candidate, picture in made]
    if not callable(made):
        raise TypeError("a page is a function that draws")
    return made


def _picture(made: Any) -> str | bytes:
    return bytes(made) if isinstance(made, bytes | bytearray) else clean_svg(str(made))


def _column(values: Iterable[Any]) -> list[Any]:
    return [value if isinstance(value, str | int | float | None) else str(value) for value in list(values)[:LONGEST]]


NAMESPACE = "http://www.w3.org/2000/svg"
LARGEST = 2_000_000
"""Characters of a picture."""
_ELEMENTS = "svg g title desc path rect circle ellipse line polyline polygon text tspan defs linearGradient radialGradient stop clipPath"
_ATTRIBUTES = (
    "version viewBox preserveAspectRatio width height x y x1 y1 x2 y2 dx dy cx cy r rx ry fx fy d points transform id role fill stroke "
    "fill-opacity fill-rule stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin opacity "
    "font-family font-size font-weight font-style text-anchor dominant-baseline rotate textLength offset stop-color stop-opacity "
    "gradientUnits gradientTransform clip-path clipPathUnits paint-order vector-effect aria-label"
)
ELEMENTS, ATTRIBUTES = frozenset(_ELEMENTS.split()), frozenset(_ATTRIBUTES.split())
_OUTSIDE = re.compile(r"url\(\s*['\"]?(?!#)|[a-z]+:|expression|@import", re.IGNORECASE)
_TEXTS = frozenset({"aria-label", "font-family", "id"})


def clean_svg(text: str) -> str:
    """Return a picture as it may be shown anywhere.

    Raises:
        ValueError: naming what may not be in one: another element or attribute than those that draw, an address, a document type.
    """
    if len(text) > LARGEST:
        raise ValueError(f"the picture has {len(text)} characters, and {LARGEST} are allowed")
    if "<!" in text or "<?xml-" in text:
        raise ValueError("the picture holds a document type, a comment or an instruction")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without a document type there are no entities to blow up
    except ET.ParseError as err:
        raise ValueError(f"the picture is no SVG: {err}") from err
    if root.tag != f"{{{NAMESPACE}}}svg":
        raise ValueError(f"the picture is no SVG: its root is `{root.tag}`")
    for element in root.iter():
        _demand_harmless(element)
    ET.register_namespace("", NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _demand_harmless(element: ET.Element) -> None:
    name = str(element.tag).removeprefix(f"{{{NAMESPACE}}}")
    if name not in ELEMENTS:
        raise ValueError(f"the picture holds `<{name}>`")
    for attribute, value in element.attrib.items():
        if attribute not in ATTRIBUTES:
            raise ValueError(f"`<{name}>` of the picture has the attribute `{attribute}`")
        if attribute not in _TEXTS and _OUTSIDE.search(value):
            raise ValueError(f"`{attribute}` of `<{name}>` of the picture refers to something outside: {value[:80]!r}")
