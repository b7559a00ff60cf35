"""The shipped experiments: listing reads them as JSON, and that says what their YAML says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tracebench_autoresearch.experiment import FILE, SHIPPED

COMMAND = "python -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin), indent=1))' < experiment.yaml > experiment.json"


@pytest.mark.parametrize("path", sorted(SHIPPED.glob(f"*/{FILE}")), ids=lambda path: path.parent.name)
def test_the_json_of_an_experiment_is_current(path: Path) -> None:
    assert json.loads(path.with_suffix(".json").read_text()) == yaml.safe_load(path.read_text()), COMMAND
