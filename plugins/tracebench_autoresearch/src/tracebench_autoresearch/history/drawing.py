"""A Vega-Lite plot as the content of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tracebench_core.errors import MissingRequirementError, UsageError

ENDINGS = (".svg", ".png", ".html", ".json")


def render(plot: Mapping[str, Any], ending: str) -> bytes:
    """Return the plot in the format of a file's ending; HTML holds its script and opens offline.

    Raises:
        UsageError: when the ending is no format.
        MissingRequirementError: when the library that draws is not installed; `.json` needs none.
    """
    if ending not in ENDINGS:
        raise UsageError(
            f"`{ending}` is no format of a plot.", hint=f"--output progress.svg, or {', '.join(ENDINGS[1:])}"
        )
    written = json.dumps(plot)
    if ending == ".json":
        return written.encode() + b"\n"
    try:
        draw = import_module("vl_convert")
    except ImportError as err:
        raise MissingRequirementError(
            "A plot is drawn with `vl-convert-python`, which is not installed; a file `.json` needs it not.",
            hint="pip install 'tracebench-engine[report]'",
        ) from err
    if ending == ".png":
        picture: bytes = draw.vegalite_to_png(written, scale=2)
        return picture
    as_text = draw.vegalite_to_svg if ending == ".svg" else draw.vegalite_to_html
    drawn: str = as_text(written) if ending == ".svg" else as_text(written, bundle=True)
    return drawn.encode()
