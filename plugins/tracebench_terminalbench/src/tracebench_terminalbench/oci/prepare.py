"""The image of one task, ready to run, as a command for Harbor's own Python, which has none of our packages.

    python -m tracebench_terminalbench.oci.prepare '{"environment": "task/environment", "image": null, "store": "…", "images": {}}'

Its answer is one line of JSON: `root`, `config` and `notes`, or `problem`, the words of what cannot be had.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tracebench_terminalbench.oci.images import Store
from tracebench_terminalbench.oci.mapped import MappedError


def main() -> None:
    """Print where the image's files are."""
    asked = json.loads(sys.argv[1])
    settings = {name: asked[name] for name in ("images", "registry", "image_mb", "network") if name in asked}
    store = Store(Path(asked["store"]).expanduser().absolute(), **settings)
    try:
        image = store.image(asked["image"]) if asked["image"] else store.built(Path(asked["environment"]))
        below = str(store.brought(asked["brought"])) if asked.get("brought") else None
        answer = {"root": str(image.root), "config": dict(image.config), "notes": image.notes, "below": below}
    except (MappedError, OSError) as err:
        answer = {"problem": str(err)}
    print(json.dumps(answer))  # noqa: T201 - what is read


if __name__ == "__main__":
    main()
