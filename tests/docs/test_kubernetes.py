"""The manifests of the page on Kubernetes: whole by Kubernetes' own schemas, and their commands ones that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kubernetes.md"
VERSIONS = ("1.30", "1.34")


def manifests() -> list[dict[str, Any]]:
    """Return every document of every block of YAML on the page."""
    blocks = re.findall(r"^```ya?ml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [document for block in blocks for document in yaml.safe_load_all(block)]


def containers() -> list[dict[str, Any]]:
    """Return every container of every pod."""
    return [
        container
        for manifest in manifests()
        if manifest["kind"] == "Job"
        for container in manifest["spec"]["template"]["spec"]["containers"]
    ]


@pytest.mark.heavy("kubernetes")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_whole_by_the_schemas_of_kubernetes(version: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for manifest in manifests():
        kubernetes_validate.validate(manifest, version, strict=True)
    broken = {**manifests()[-1], "spec": {**manifests()[-1]["spec"], "paralelism": 8}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_what_a_container_runs_is_a_command_with_options_that_it_has() -> None:
    assert len(containers()) == 2
    for container in containers():
        words = [*container["command"], *container.get("args", [])]
        known = shutil.which(words[0], path=str(Path(sys.executable).parent))
        assert known, words
        told = subprocess.run([known, words[1], "--help"], capture_output=True, text=True, check=True).stdout
        options = {word for word in words[2:] if re.fullmatch(r"--?[a-z][a-z-]*", word)}
        assert options
        assert not [option for option in options if not re.search(rf"(^|[ ,]){option}\b", told, re.MULTILINE)]


def test_what_the_manifests_name_of_each_other_is_there() -> None:
    found = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in manifests()}
    run = found["Job", "trace-bench-run"]["spec"]["template"]
    service = found["Service", "trace-bench"]
    assert service["spec"]["selector"].items() <= run["metadata"]["labels"].items()
    port = service["spec"]["ports"][0]["port"]
    words = run["spec"]["containers"][0]["args"]
    assert f"plugins.options.workers.reach={service['metadata']['name']}:{port}" in words
    assert f"plugins.options.workers.listen=0.0.0.0:{port}" in words
    for manifest in (found["Job", "trace-bench-run"], found["Job", "trace-bench-workers"]):
        pod = manifest["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} <= volumes
    claim = run["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert ("PersistentVolumeClaim", claim) in found
    page = PAGE.read_text(encoding="utf-8")
    worker = containers()[1]["env"][1]["valueFrom"]["secretKeyRef"]
    assert f"create secret generic {worker['name']} --from-file={worker['key']}=" in page
