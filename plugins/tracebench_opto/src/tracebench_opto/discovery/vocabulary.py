"""The words of opto's trainers: one thing is called differently in each class, and some things are not the user's to set."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

SYNONYMS: dict[str, tuple[str, ...]] = {
    "num_steps": ("num_steps", "num_search_iterations", "num_iters", "max_depth", "steps"),
    "batch_size": ("batch_size", "train_batch_size"),
    "validation_size": ("evaluation_batch_size", "validation_dataset_size", "pareto_subset_size"),
    "test_frequency": ("test_frequency", "eval_frequency"),
    "num_candidates": ("num_candidates", "beam_width"),
}
"""Our word, and what a class may call it, the likeliest first."""

LENGTHS = (*SYNONYMS["num_steps"], "num_epochs", "epochs")
"""What sets how long a class goes on."""

VALIDATION = ("validate_dataset", "validation_dataset")
TEST = ("test_dataset",)
ADAPTED = frozenset(
    {
        "agent", "optimizer", "guide", "validate_guide", "logger", "llm", "num_threads", "train_dataset", *VALIDATION, *TEST,
        "save_path", "save_frequency", "verbose", "self", "rng_seed", "seed",
    }
)  # fmt: skip
"""Arguments that the adapter gives, so that they are no settings."""

TAMED: dict[str, JsonValue] = {"epsilon": 0, "use_summarizer": False}
"""What switches off the use of models that the gateway does not serve (embeddings)."""

ABSTRACT = {
    "Trainer": "the base class of trainers",
    "AlgorithmBase": "the base class of trainers",
    "AbstractAlgorithm": "the base class of trainers",
    "Minibatch": "abstract: it leaves `forward` and `update` to its subclasses",
    "SearchTemplate": "abstract: it leaves `update` and `sample` to its subclasses",
    "AsyncSearch": "unfinished in every build that has it",
}
"""Classes that are never offered, by name, with the reason that is shown."""


def settings_of(constructor: Mapping[str, JsonValue], train: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what a user may set of a class, with the defaults."""
    return {k: v for k, v in {**constructor, **train}.items() if k not in ADAPTED}


def aliases_of(settings: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return other names of a class's settings: each word of the vocabulary leads to what the class calls it."""
    aliases = {}
    for word, names in SYNONYMS.items():
        own = next((n for n in names if n in settings), None)
        if own is not None:
            aliases.update({other: own for other in (word, *names) if other not in settings})
    return aliases
