"""The search trainers as data; importing this imports no trainer."""

from __future__ import annotations

from tracebench_core.specs import TrainerSpec

PACKAGE = "tracebench_opto.trainers"
COMMON = {"batch_size": "train_batch_size", "threads": "num_threads"}
PRIORITY = COMMON | {
    "ps_steps": "num_steps",
    "ps_batches": "num_batches",
    "ps_candidates": "num_candidates",
    "ps_proposals": "num_proposals",
    "ps_mem_update": "memory_update_frequency",
}
STREAMING = COMMON | {alias: PRIORITY[alias] for alias in ("ps_steps", "ps_candidates", "ps_proposals")}
EVOLUTION = COMMON | {
    "num_iters": "num_steps",
    "num_search_iterations": "num_steps",
    "gepa_iters": "num_steps",
    "gepa_train_bs": "train_batch_size",
    "gepa_merge_every": "merge_every",
    "gepa_pareto_subset": "pareto_subset_size",
}
TRACE = "OpenTrace, https://github.com/AgentOpt/OpenTrace"
GEPA = "GEPA: Reflective Prompt Evolution Can Outperform Reinforcement Learning, arXiv 2507.19457"


NAMES: dict[str, tuple[str, ...]] = {
    "Minibatch": ("MinibatchAlgorithm",),
    "BasicSearch": ("BasicSearchAlgorithm",),
    "BeamSearch": ("BeamsearchAlgorithm", "BeamSearchAlgorithm"),
    "BeamSearchHistory": ("BeamsearchHistoryAlgorithm", "BeamSearchHistoryAlgorithm"),
    "UCBSearch": ("UCBSearchAlgorithm",),
    "ParetoSearch": ("ParetobasedPS",),
    "GEPA-Base": ("GEPAAlgorithmBase",),
    "GEPA-UCB": ("GEPAUCBSearch",),
    "GEPA-Beam": ("GEPABeamPareto",),
}
"""What OpenTrace calls them, by our name."""
REFUSED = {
    "SearchTemplate": "abstract in OpenTrace: it leaves `update` and `sample` to its subclasses; take `PrioritySearch`",
    "PrioritySearch_with_Regressor": "it needs an embedding service for its regressor; `PrioritySearch` is the search without it",
}
"""Names of OpenTrace that stand for nothing here, with the reason."""


def _spec(
    name: str,
    module: str,
    title: str,
    *,
    citation: str = TRACE,
    aliases: dict[str, str] = COMMON,
    optimizer: str = "OptoPrime",
    advice: str | None = "of_search",
) -> TrainerSpec:
    """Return the spec of a trainer whose module offers `build`, `Settings` and `estimate_cost`."""
    return TrainerSpec(
        name=name,
        aliases=NAMES.get(name, ()),
        loader=f"{PACKAGE}.{module}:build",
        settings=f"{PACKAGE}.{module}:Settings",
        cost=f"{PACKAGE}.{module}:estimate_cost",
        advice=f"tracebench_opto.parts.advice:{advice}" if advice and ":" not in advice else advice,
        setting_aliases=aliases,
        title=title,
        citation=citation,
        default_optimizer=optimizer,
        preload=(f"{PACKAGE}.{module}",),
        reads_budget=True,
    )


TRAINER_SPECS: tuple[TrainerSpec, ...] = (
    _spec("PrioritySearch", "priority_search", "Expand the most urgent candidates of a queue", aliases=PRIORITY),
    _spec("Minibatch", "minibatch", "One update per batch, kept when it improves", advice="of_tests"),
    _spec("BasicSearch", "basic_search", "The best of several proposals on validation goes on"),
    _spec(
        "BeamSearch",
        "beam_search",
        "Keep a beam of candidates",
        aliases=COMMON | {"max_depth": "num_steps"},
        advice="of_beams",
    ),
    _spec(
        "BeamSearchHistory",
        "beam_search_history",
        "Beam search that shows the proposer what was tried",
        citation="Large Language Models as Optimizers (OPRO), arXiv 2309.03409",
        aliases=COMMON | {"max_depth": "num_steps"},
        advice="of_beams",
    ),
    _spec(
        "Adaptive",
        "adaptive",
        "Chooses by what is scarce and by what has paid off here",
        citation="AdaEvolve: Adaptive LLM-driven evolution, arXiv 2602.20133",
    ),
    _spec(
        "UCBSearch",
        "ucb_search",
        "Candidates as arms of a bandit, for noisy scores",
        citation="Auer, Cesa-Bianchi, Fischer: Finite-time Analysis of the Multiarmed Bandit Problem, 2002",
        aliases=COMMON | {"num_search_iterations": "num_steps"},
    ),
    _spec(
        "OPRO",
        "opro",
        "Sample from the best candidates so far, worst first",
        citation="Large Language Models as Optimizers (OPRO), arXiv 2309.03409",
        optimizer="OPRO",
    ),
    _spec(
        "TextualGradients",
        "textual_gradients",
        "A criticism for each example, then each parameter's next value",
        citation="TextGrad: Automatic Differentiation via Text, arXiv 2406.07496",
        aliases=COMMON | {"momentum": "momentum_window"},
        advice=f"{PACKAGE}.textual_gradients:advise",
    ),
    _spec("SequentialUpdate", "sequential_update", "Always move on to the newest candidate"),
    _spec(
        "SequentialSearch",
        "sequential_search",
        "Move on to the best of several proposals when it is better",
        advice="of_tests",
    ),
    _spec(
        "StreamingPrioritySearch",
        "streaming_priority_search",
        "Measure a candidate only when its turn comes",
        aliases=STREAMING,
    ),
    _spec(
        "ParetoSearch",
        "pareto_search",
        "Expand what is best on some example, or undominated",
        aliases=STREAMING,
    ),
    _spec(
        "Anneal",
        "anneal",
        "Move on to worse candidates, too, less and less",
        citation="Kirkpatrick, Gelatt, Vecchi: Optimization by Simulated Annealing, Science 220, 1983",
    ),
    _spec(
        "MapElites",
        "map_elites",
        "Keep the best of every kind, on islands",
        citation="Mouret, Clune: Illuminating search spaces by mapping elites, arXiv 1504.04909",
    ),
    _spec(
        "Novelty",
        "novelty",
        "Breed from what is unlike the rest, refuse what is not new",
        citation="Lehman, Stanley: Evolving a Diversity of Virtual Creatures through Novelty Search and Local Competition, GECCO 2011",
    ),
    _spec(
        "AggregatedUpdate",
        "aggregated_update",
        "Merge one proposal per example by a second model call",
        advice="of_tests",
    ),
    _spec(
        "POLCA",
        "polca",
        "Priority search that skips near-copies and sums up its memory",
        citation="POLCA: Stochastic Generative Optimization, arXiv 2603.14769",
        aliases=PRIORITY,
    ),
    _spec(
        "GEPA-Base",
        "gepa_base",
        "Reflective evolution on a frontier",
        citation=GEPA,
        aliases=EVOLUTION,
        advice="of_tests",
    ),
    _spec(
        "GEPA-Merge",
        "gepa_merge",
        "GEPA-Base that merges lineages",
        citation=GEPA,
        aliases=EVOLUTION,
        advice="of_merging",
    ),
    _spec("GEPA-UCB", "gepa_ucb", "GEPA for noisy scores", citation=GEPA, aliases=EVOLUTION, advice="of_merging"),
    _spec(
        "GEPA-Beam",
        "gepa_beam",
        "GEPA on the best few candidates",
        citation=GEPA,
        aliases=EVOLUTION,
        advice="of_merging",
    ),
    _spec(
        "Curriculum",
        "curriculum",
        "Any other trainer, easy examples first",
        citation="Bengio, Louradour, Collobert, Weston: Curriculum Learning, 2009",
        aliases={},
        advice=None,
    ),
    _spec(
        "Sequence",
        "sequence",
        "One trainer after another, each from the best so far",
        citation="",
        aliases={},
        advice=None,
    ),
    _spec(
        "Portfolio",
        "portfolio",
        "Several trainers in turns, by what they find",
        citation="Auer, Cesa-Bianchi, Fischer: Finite-time Analysis of the Multiarmed Bandit Problem, 2002",
        aliases={},
        advice=None,
    ),
)
