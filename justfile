# Recipes for people who work on Trace-Bench; `just` lists them.
set positional-arguments

bin := ".venv/bin"

_default:
    @just --list

# run the tests, or some of them
test *paths:
    {{bin}}/python -m pytest -n 4 "$@"

# lint, format, types, import contracts
check:
    {{bin}}/ruff check .
    {{bin}}/ruff format --check .
    {{bin}}/mypy
    {{bin}}/lint-imports

# mend what can be mended by machine
fix:
    {{bin}}/ruff check --fix .
    {{bin}}/ruff format .

# what CI runs
ci:
    bash .ci/run

# the long crash test: a thousand kills
crash kills="1000":
    {{bin}}/python -m tests.crash.soak --kills {{kills}}

# every process of a run held or refusing to die, while the run goes on or is ended: the table of what comes of it
held *options:
    {{bin}}/python -m tests.crash.held "$@"

# simulated runs, each with its own schedule of faults; one that breaks a law is told by its seed
simulate schedules="1500" seed="1":
    {{bin}}/python -m tests.simulation --schedules {{schedules}} --seed {{seed}}

# honest jobs beside jobs whose every candidate is an attack, and the same jobs alone
attack jobs="3000":
    {{bin}}/python -m tests.attack.soak --jobs {{jobs}}

# every benchmark, each a ratio against a named baseline of the same run
bench:
    for b in cli_start jobs planning gateway isolation steps; do echo "== $b"; {{bin}}/python benchmarks/$b.py; done

# Write the schemas and the reference page of run directories from the models.
formats:
    .venv/bin/python docs/register/run_directory.py
    .venv/bin/python -c "import json; from tracebench_engine.config.schema import verdict_schema; print(json.dumps(verdict_schema(), indent=2))" > configs/schema/verdict.schema.json

# wheel and source distribution of the core and of each plugin, in dist/
build:
    rm -rf dist
    uv build --quiet --all-packages --out-dir dist
    ls dist

# the docs as a site, in site/; a warning is an error
docs:
    bash .ci/site site

# execute the notebooks and keep what they show (needs nbclient, ipykernel, matplotlib, pandas, tensorboard)
notebooks *names:
    {{bin}}/python notebooks/execute.py "$@"

# how well 490 broken configs are told, and whether each hint works when it is typed
broken-configs:
    {{bin}}/python benchmarks/broken_configs.py

# write the tables of calibrations that this machine saw into the pages of the suites
calibrations *suites:
    {{bin}}/python docs/register/calibrations.py "$@"

# a page of results with receipts: `just open-bench suites`, or `just open-bench small RELEASE FOLDER`; one of promise, run, page may stand first
open-bench *words:
    #!/usr/bin/env bash
    set -euo pipefail
    set -- {{words}}
    steps=(promise run page)
    case ${1:-} in promise | run | page) steps=("$1"); shift ;; esac
    size=${1:?a size}
    if [ "$size" = suites ]; then  # it has no fields, so no release
      keep=${2:-runs/open-bench-suites} to=docs/reference/open-bench-suites of=()
    else
      keep=${3:?a folder to keep runs in} to=docs/reference/open-bench of=(--release "${2:?a release}")
    fi
    for step in "${steps[@]}"; do
      more=("${of[@]}")
      [ "$step" = page ] && more+=(--to "$to")
      {{bin}}/trace-bench open-bench "$step" --size "$size" --keep "$keep" "${more[@]}"
    done

# ask public claims again: clones as OWNER+NAME, and a Python with numpy, SciPy, NetworkX, pandas and JAX (docs/how-to/open-bench.md)
public-claims clones python:
    {{bin}}/trace-bench open-bench claims repeat --root "{{clones}}" --python "{{python}}" --to docs/reference/public-claims/results.json
    {{bin}}/trace-bench open-bench claims page docs/reference/public-claims/results.json --to docs/reference/public-claims.md

# write the register of plugins
register:
    {{bin}}/python docs/register/render.py

# install the core alone, and with each plugin alone, from the wheels in dist/, and run a config of each
distributions *names: build
    bash .ci/distributions "$@"

# write the reference page of the conformance checks
checks-page:
    {{bin}}/python -c "from pathlib import Path; from tracebench_testing.kit import reference; Path('docs/reference/checks.md').write_text(reference())"

# mutants of eight modules, with --changed of the lines that you changed, with --draw 400 of all (docs/explanation/mutants.md)
mutants *options:
    uv run --quiet --no-sync --with 'cosmic-ray>=8.3,<9' python -W ignore -m tests.mutants "$@"

# what takes long or needs much: Terminal-Bench on Harbor, the viewer in a browser, experiments, every damage to a run directory
soak:
    bash .ci/soak

# install nine coding agents and run each on its own interface against a scripted model; some by their names
agents *names:
    names="$*"; PATH=$PWD/.tools/bin:$PWD/.venv/bin:$PATH TRACEBENCH_HEAVY=agents,agents_two {{bin}}/python -m pytest -q -p no:cacheprovider plugins/tracebench_trainers_ext/tests/test_presets.py ${names:+-k "${names// / or }"}

# write the public face, name by name, into the file that tests compare it with
face:
    {{bin}}/python -m tests.face

# write what is declared, what tasks are, what trainers do and what commands say into the files that tests compare it with; some by their names
kept *names:
    {{bin}}/python -m tests.kept "$@"

# try the newest release of every library that is pinned, or of some, each in an environment of its own, and say what broke
newest *names:
    PATH=$PWD/.tools/bin:$PATH {{bin}}/python -m tests.newest "$@"
