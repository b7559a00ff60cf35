"""Score replies by the authors' scripts and by lm-evaluation-harness; `hf_agreement.py` runs this where `lm_eval` is installed.

    <python with lm_eval> benchmarks/hf_peers.py <folder with the authors' scripts> < replies.jsonl > scores.jsonl

A script that is not in the folder scores nothing. Of a script its functions are taken, not what it imports for training.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import yaml

Row = Mapping[str, Any]
Scorer = Callable[[Sequence[Row]], list[bool]]


def functions_of(path: Path) -> dict[str, Any]:
    """Return a script's functions and constants, without running what it imports beyond the standard library, numpy and scipy."""
    wanted = {"re", "string", "collections", "typing", "numpy", "scipy.optimize", "json", "argparse"}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kept = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            node.names = [name for name in node.names if name.name in wanted]
            kept += [node] if node.names else []
        elif isinstance(node, ast.ImportFrom):
            kept += [node] if node.module in wanted else []
        elif isinstance(node, ast.FunctionDef | ast.Assign):
            kept.append(node)
    tree.body = kept
    space: dict[str, Any] = {}
    exec(compile(tree, str(path), "exec"), space)
    return space


def authors(folder: Path) -> dict[str, Scorer]:
    """Return the authors' scorers by data set, of those whose script is there; a reply is right by exact match."""
    made: dict[str, tuple[str, Callable[[dict[str, Any]], Callable[[Row], bool]]]] = {
        "gsm8k": ("dataset.py", lambda f: lambda r: f["extract_answer"](r["reply"]) == r["golds"][0].replace(",", "")),
        "hotpot_qa": (
            "hotpot_evaluate_v1.py",
            lambda f: lambda r: any(f["exact_match_score"](r["reply"], g) for g in r["golds"]),
        ),
        "musique": ("answer.py", lambda f: lambda r: any(f["compute_exact"](g, r["reply"]) for g in r["golds"])),
        "qasper": (
            "evaluator.py",
            lambda f: lambda r: max(f["token_f1_score"](r["reply"], g) for g in r["golds"]) == 1,
        ),
        "drop": ("drop_eval.py", lambda f: lambda r: any(f["get_metrics"](r["reply"], g)[0] == 1 for g in r["lists"])),
        "bbeh": ("evaluate.py", lambda f: lambda r: f["evaluate_correctness"](r["reply"], r["golds"][0])),
    }
    return {
        name: each(make(functions_of(folder / file)))
        for name, (file, make) in made.items()
        if (folder / file).is_file()
    }


class Harness:
    """Tasks of lm-evaluation-harness: their filters and their exact match."""

    def __init__(self) -> None:
        spec = find_spec("lm_eval")
        assert spec is not None
        assert spec.submodule_search_locations
        self._tasks = Path(spec.submodule_search_locations[0]) / "tasks"

    def config(self, path: str) -> dict[str, Any]:
        """Return a task's file; tags that name functions are read as text."""
        loader = type("Loader", (yaml.SafeLoader,), {})
        loader.add_constructor("!function", lambda own, node: own.construct_scalar(node))  # type: ignore[attr-defined]
        found: dict[str, Any] = yaml.load((self._tasks / path).read_text(), Loader=loader)
        return found

    def files(self, folder: str) -> list[Path]:
        """Return the files of the tasks in a folder, without those that only group or share."""
        return sorted(path for path in (self._tasks / folder).glob("*.yaml") if not path.name.startswith("_"))

    def module(self, path: str) -> Any:
        """Return a script of a task, as a module."""
        spec = spec_from_file_location(Path(path).stem, self._tasks / path)
        assert spec is not None
        assert spec.loader is not None
        found = module_from_spec(spec)
        spec.loader.exec_module(found)
        return found

    def scorer(self, path: str, name: str, template: str = "") -> Callable[[Callable[[Row], str]], Scorer]:
        """Return what a task scores by one of its filters, given a row and the gold text."""
        import lm_eval.filters  # noqa: F401, PLC0415 - registers them
        from lm_eval.api.metrics import exact_match_fn  # noqa: PLC0415 - slow to import
        from lm_eval.api.registry import get_filter  # noqa: PLC0415

        held = self.config(path)
        metric = (held.get("metric_list") or self.config(template)["metric_list"])[0]
        told = {k: v for k, v in metric.items() if k in {"ignore_case", "ignore_punctuation", "regexes_to_ignore"}}
        steps = []
        for step in next(f["filter"] for f in held["filter_list"] if f["name"] == name):
            more = {k: v for k, v in step.items() if k != "function"}
            own = step["function"].removeprefix("utils.")
            made = (
                get_filter(own)
                if own == step["function"]
                else getattr(self.module(f"{Path(path).parent}/utils.py"), own)
            )
            steps.append(made(**more))

        def score(rows: Sequence[Row], gold: Callable[[Row], str]) -> list[bool]:
            replies: Any = [[row["reply"]] for row in rows]
            for step in steps:
                replies = step.apply(
                    replies, [{"choices": row["texts"], "input": row.get("question", "")} for row in rows]
                )
            texts = [found if isinstance(found, str) else found[0] for found in replies]
            return [
                bool(exact_match_fn(predictions=[text], references=[gold(row)], **told)["exact_match"] == 1)
                for row, text in zip(rows, texts, strict=True)
            ]

        return lambda gold: lambda rows: score(rows, gold)


def harness() -> dict[str, dict[str, Scorer]]:
    """Return the harness's scorers by data set: of the task itself, else of its task of the same kind of answer."""
    from lm_eval.tasks.drop.utils import get_metrics  # noqa: PLC0415
    from lm_eval.tasks.longbench.metrics import qa_f1_score  # noqa: PLC0415

    own = Harness()
    bbh = "bbh/cot_zeroshot/_cot_zeroshot_template_yaml"
    gsm = {name: own.scorer("gsm8k/gsm8k.yaml", name) for name in ("strict-match", "flexible-extract")}
    flan = {
        name: own.scorer("mmlu/flan_cot_zeroshot/_mmlu_flan_cot_zeroshot_template_yaml", name)
        for name in ("strict-match", "flexible-extract")
    }
    chat = own.scorer("arc/arc_challenge_chat.yaml", "remove_whitespace")
    pro = own.scorer("mmlu_pro/_default_template_yaml", "custom-extract")
    yes = {
        name: own.scorer("bbh/cot_zeroshot/navigate.yaml", name, bbh) for name in ("strict-match", "flexible-extract")
    }
    few = own.scorer("bbh/cot_fewshot/_cot_fewshot_template_yaml", "get-answer")
    bracketed, letter, first = lambda r: f"({r['letter']})", lambda r: r["letter"], lambda r: r["golds"][0]
    choice = {f"mmlu_flan {name}": made(bracketed) for name, made in flan.items()} | {
        "mmlu_pro": pro(letter),
        "arc_chat": chat(letter),
    }
    text = {"longbench": each(lambda r: max(qa_f1_score(r["reply"].strip(), g) for g in r["golds"]) == 1)}
    return {
        "gsm8k": {name: made(first) for name, made in gsm.items()},
        "arc_challenge": choice, "qasc": choice, "aqua_rat": choice, "quality": choice,
        "strategy_qa": {name: made(lambda r: r["golds"][0].capitalize()) for name, made in yes.items()},
        "hotpot_qa": text, "musique": text, "qasper": text,
        "drop": {"drop": each(lambda r: any(get_metrics(r["reply"], g)[0] == 1 for g in r["lists"]))},
        "bbeh": {"bbh few-shot": few(first)},
        **newer(own, choice),
    }  # fmt: skip


def newer(own: Harness, choice: dict[str, Scorer]) -> dict[str, dict[str, Scorer]]:
    """Return the harness's scorers of data sets that have come since: its tasks for them, as they are."""
    bracketed, first = lambda r: f"({r['letter']})", lambda r: r["golds"][0]
    gpqa = {
        f"gpqa {name}": own.scorer("gpqa/cot_zeroshot/_gpqa_cot_zeroshot_yaml", name)(bracketed)
        for name in ("strict-match", "flexible-extract")
    }
    aime = own.module("aime/utils.py").process_results
    number = {"aime": each(lambda r: aime({"answer": r["golds"][0]}, [r["reply"]])["exact_match"] == 1)}
    folder = "bbh/cot_zeroshot"
    bbh = {
        f"bbh/{path.stem}": {
            f"bbh {name}": own.scorer(f"{folder}/{path.name}", name, f"{folder}/_cot_zeroshot_template_yaml")(first)
            for name in ("strict-match", "flexible-extract")
        }
        for path in own.files(folder)
    }
    return {"mmlu": choice, "mmlu_pro": choice, "gpqa": choice | gpqa, "aime24": number, "aime25": number, **bbh}


def each(one: Callable[[Row], bool]) -> Scorer:
    """Return a scorer of rows from a scorer of one."""
    return lambda rows: [bool(one(row)) for row in rows]


def main() -> None:
    """Read rows from standard input, write one object of scores for each."""
    scripts, tasks = authors(Path(sys.argv[1])), harness()
    rows = [json.loads(line) for line in sys.stdin]
    found: list[dict[str, bool]] = [{} for _ in rows]
    for dataset in {row["dataset"] for row in rows}:
        at = [i for i, row in enumerate(rows) if row["dataset"] == dataset]
        scorers = {f"lm_eval {name}": score for name, score in tasks.get(dataset, {}).items()}
        if dataset in scripts:
            scorers["authors"] = scripts[dataset]
        for name, score in scorers.items():
            for i, is_right in zip(at, score([rows[i] for i in at]), strict=True):
                found[i][name] = is_right
    for scores in found:
        print(json.dumps(scores))


if __name__ == "__main__":
    main()
