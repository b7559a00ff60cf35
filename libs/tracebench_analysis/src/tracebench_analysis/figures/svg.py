"""Pictures as SVG text in which nothing can act: no script, no style sheet, no reference to anything outside."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

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
