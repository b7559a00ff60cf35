"""The plugin's hooks: specs only."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import EnvironmentSpec, Price, ProviderSpec, Requirement

SERVER = Requirement(kind="module", name="xllamacpp", hint='pip install "tracebench-local[server]"')


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer a llama.cpp server that lives as long as a run."""
    return [
        EnvironmentSpec(
            name="llama.cpp",
            kind="server",
            scope="run",
            loader="tracebench_local.server:LlamaServer",
            requires=(SERVER,),
        )
    ]


@hookimpl
def tracebench_providers() -> list[ProviderSpec]:
    """Offer `local/<model>`: the weights of an installed package, or any GGUF file."""
    return [
        ProviderSpec(
            name="local",
            loader="tracebench_local.server:address",
            environment="llama.cpp",
            prices={"*": Price(prompt=0.0, completion=0.0)},
            requires=(SERVER,),
        )
    ]
