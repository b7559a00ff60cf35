"""Where images are looked for, and which of them a Dockerfile names."""

from __future__ import annotations

from tracebench_terminalbench.oci.sources import find_source, full_name, references


def test_the_images_of_a_dockerfile_are_found() -> None:
    text = (
        "ARG V=12\nFROM debian:${V} AS a\nFROM --platform=linux/amd64 ghcr.io/x/y@sha256:0 as b\nFROM a\n"
        "COPY --from=uv:1 /u /\nCOPY --from=0 / /\n"
    )

    assert references(text) == {
        "debian:${V}": "debian:12", "ghcr.io/x/y@sha256:0": "ghcr.io/x/y@sha256:0", "uv:1": "uv:1",
    }  # fmt: skip
    assert full_name("debian") == "docker.io/library/debian:latest"
    assert full_name("alexgshaw/x:20251031") == "docker.io/alexgshaw/x:20251031"
    assert full_name("127.0.0.1:5000/x") == "127.0.0.1:5000/x:latest"


def test_what_a_step_merely_says_is_no_image() -> None:
    text = (
        "FROM base\nRUN uvx --from=httpie http --version\nRUN pg_dump x,from=y\n"
        "COPY <<EOF /query.sql\nSELECT a\nFROM users\nEOF\nRUN --mount=from=two,target=/a --mount=type=bind,from=three true\n"
        "COPY --chown=1 --from=four /a /b\n"
    )

    assert [*references(text)] == ["base", "two", "three", "four"]


def test_a_registry_on_loopback_is_asked_without_tls_and_no_other() -> None:
    assert find_source("debian:12", images={}, registry="127.0.0.1:5000").flags == ("--tls-verify=false",)
    assert find_source("debian:12", images={}, registry="mirror.example.org") == (
        "docker://mirror.example.org/library/debian:12", (),
    )  # fmt: skip
    assert find_source("debian:12", images={}, registry=None).name == "docker://docker.io/library/debian:12"
