"""Small opto trees shaped like three builds that the package index does not have: the real tracing and optimizers, toy trainers."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

SHARED = {
    "trainer/__init__.py": "print('words on stdout')\n",
    "trainer/algorithms/__init__.py": "",
}

V0139 = SHARED | {
    "trainer/guide.py": """
        class AutoGuide:
            def __call__(self, task, response, info, **kwargs):
                return self.get_feedback(task, response, info, **kwargs)

            def get_feedback(self, query, response, reference=None, **kwargs):
                raise NotImplementedError
    """,
    "trainer/algorithms/algorithm.py": """
        class AlgorithmBase:
            def __init__(self, agent, num_threads=None, logger=None, *args, **kwargs):
                self.agent, self.logger = agent, logger

            def train(self, guide, train_dataset, num_threads=None, **kwargs):
                raise NotImplementedError
    """,
    "trainer/algorithms/basic_algorithm.py": """
        from opto.trainer.algorithms.algorithm import AlgorithmBase

        class Minibatch(AlgorithmBase):
            def __init__(self, agent, optimizer, num_threads=None, logger=None, *args, **kwargs):
                super().__init__(agent, num_threads, logger)
                self.optimizer = optimizer

            def train(self, guide, train_dataset, *, num_epochs=1, batch_size=1, test_dataset=None, eval_frequency=1, **kwargs):
                test_dataset["inputs"]
                for epoch in range(num_epochs):
                    for start in range(0, len(train_dataset["inputs"]), batch_size):
                        x, info = train_dataset["inputs"][start], train_dataset["infos"][start]
                        target = self.agent(x)
                        score, feedback = guide(x, target.data, info)
                        self.optimizer.zero_feedback()
                        self.optimizer.backward(target, feedback)
                        self.optimizer.step()
                        self.logger.log("score", score, start)
                for x, info in zip(train_dataset["inputs"], train_dataset["infos"]):
                    guide(x, self.agent(x).data, info)
                self.draw()
                return -1, float("-inf")

            def draw(self):
                raise NotImplementedError

        class MinibatchAlgorithm(Minibatch):
            def draw(self):
                pass

        class BasicSearchAlgorithm(MinibatchAlgorithm):
            def draw(self):
                from graphviz.backend.execute import ExecutableNotFound
                raise ExecutableNotFound(["dot"])
    """,
    "trainer/algorithms/aggregator.py": """
        from opto.trainer.algorithms.basic_algorithm import Minibatch

        class AggregatedUpdate(Minibatch):
            def train(self, guide, train_dataset, *, num_epochs=1):
                return self.update(num_threads=1)

            def update(self):
                pass
    """,
}

GUIDE = """
    import copy

    class Guide:
        def __call__(self, query, response, reference=None, **kwargs):
            return self.forward(query, response, reference, **kwargs)

        def forward(self, query, response, reference=None, **kwargs):
            return self.get_feedback(query, response, reference, **kwargs)

        def copy(self):
            return copy.deepcopy(self)
"""
LOGGERS = """
    class BaseLogger:
        def __init__(self, log_dir="./logs", **kwargs):
            raise RuntimeError("writes files")

        def log(self, name, data, step, **kwargs):
            raise NotImplementedError
"""
TRAINER = """
    def save_train_config(function):
        def wrapper(self, **kwargs):
            return function(self, **kwargs)
        return wrapper

    class Trainer:
        def __init__(self, agent, num_threads=None, logger=None, *args, **kwargs):
            self.agent, self.logger = agent, logger

        def train(self, guide, train_dataset, num_threads=None, **kwargs):
            raise NotImplementedError
"""
PRIORITY_SEARCH = """
    import copy
    import random
    from opto.trainer.algorithms.algorithm import Trainer, save_train_config

    class SearchTemplate(Trainer):
        def __init__(self, agent, optimizer, num_threads=None, logger=None, *args, **kwargs):
            super().__init__(agent, num_threads, logger)
            self.optimizer = optimizer

    class PrioritySearch(SearchTemplate):
        @save_train_config
        def train(self, guide, train_dataset, *, validate_dataset=None, num_steps=None, batch_size=1,
                  num_candidates=10, score_range=None, ucb_exploration_constant=1.0, num_threads=None, **kwargs):
            pairs = [*zip(train_dataset["inputs"], train_dataset["infos"])]
            assert num_threads == 1
            for step in range(num_steps):
                x, info = random.choice(pairs)
                target = self.agent(x)
                score, feedback = copy.deepcopy(guide)(x, target.data, info)
                optimizer = copy.copy(self.optimizer)
                optimizer.zero_feedback()
                optimizer.backward(target, feedback)
                optimizer.step()
                self.logger.log("score", score, step)
                self.logger.log("words", "no number", step)
            validate = [guide.copy()(x, self.agent(x).data, i)[0]
                        for x, i in zip(validate_dataset["inputs"], validate_dataset["infos"])]
"""

V020_ALPHA = SHARED | {
    "trainer/guide.py": GUIDE,
    "trainer/loggers.py": LOGGERS,
    "trainer/algorithms/algorithm.py": TRAINER,
    "features/__init__.py": "",
    "features/priority_search/__init__.py": "",
    "features/priority_search/priority_search.py": PRIORITY_SEARCH,
    "features/priority_search/examples.py": """
        from opto.features.priority_search.priority_search import PrioritySearch

        class SequentialUpdate(PrioritySearch):
            def train(self, guide, train_dataset, **kwargs):
                return super().train(guide, train_dataset, **kwargs)
    """,
    "features/gepa/gepa_algorithms.py": """
        from opto.trainer.algorithms.algorithm import Trainer

        class GEPAAlgorithmBase(Trainer):
            def __init__(self, agent, optimizer=None, *, rng_seed=13, logger=None, num_threads=None):
                super().__init__(agent, num_threads, logger)
                self.optimizer = optimizer

            def train(self, guide, train_dataset, *, validate_dataset=None, num_iters=100, train_batch_size=2):
                while True:
                    try:
                        for x, info in zip(train_dataset["inputs"], train_dataset["infos"]):
                            target = self.agent(x)
                            _, feedback = guide(x, target.data, info)
                            self.optimizer.zero_feedback()
                            self.optimizer.backward(target, feedback)
                            self.optimizer.step()
                    except Exception:
                        pass

        class Lazy(GEPAAlgorithmBase):
            def train(self, guide, train_dataset, *, num_iters=100):
                return {"best_mean": 1.0}, 1.0

        class Exits(GEPAAlgorithmBase):
            def train(self, guide, train_dataset, *, num_iters=100):
                import os
                os._exit(7)
    """,
}

ANYTHING = """
    import copy
    import json
    from dataclasses import dataclass, field
    from opto.trace import bundle, node

    @dataclass
    class EngineConfig:
        max_metric_calls: int = 20
        max_steps: int = None
        candidate_selection_strategy: str = "best"

    @dataclass
    class ReflectionConfig:
        custom_candidate_proposer: object = None

    @dataclass
    class GEPAConfig:
        engine: EngineConfig = field(default_factory=EngineConfig)
        reflection: ReflectionConfig = field(default_factory=ReflectionConfig)

    @bundle(description="[identity] hands the candidate on", trainable=False)
    def identity(candidate):
        return candidate

    class TraceOptimizerBackend:
        def __init__(self, optimizer_cls, parameter_name):
            assert isinstance(optimizer_cls, type)
            self.optimizer_cls, self.parameter_name = optimizer_cls, parameter_name

        def __call__(self, *, candidate, feedback, objective):
            alone = len(candidate) == 1
            held = next(iter(candidate.values())) if alone else json.dumps(candidate)
            parameter = node(held, name=self.parameter_name, trainable=True, description="a candidate")
            optimizer = self.optimizer_cls([parameter], objective=objective)
            optimizer.zero_feedback()
            optimizer.backward(identity(parameter), feedback)
            written = optimizer.propose().get(parameter)
            if written is None:
                return copy.deepcopy(candidate)
            if alone:
                return {next(iter(candidate)): written}
            try:
                return json.loads(written)
            except ValueError:
                return written

    def optimize_anything(*, seed_candidate, evaluator, dataset, objective, config):
        engine, proposer = config.engine, copy.deepcopy(config).reflection.custom_candidate_proposer
        known, calls = {}, 0

        def measured(candidate):
            nonlocal calls
            scores, words = [], []
            for example in dataset:
                key = json.dumps([candidate, example])
                if key not in known:
                    if calls >= engine.max_metric_calls:
                        break
                    calls += 1
                    known[key] = evaluator(candidate=copy.deepcopy(candidate), example=example)
                scores.append(known[key][0])
                words.append(f"score={known[key][0]}, side_info={known[key][1]!r}")
            return (sum(scores) / len(scores) if scores else float("-inf")), "; ".join(words)

        best = seed_candidate
        score, words = measured(best)
        for _ in range(engine.max_steps or engine.max_metric_calls):
            if calls >= engine.max_metric_calls:
                break
            for candidate in proposer(candidate=best, feedback=words, objective=objective):
                found, said = measured(candidate)
                if found > score:
                    best, score, words = candidate, found, said
"""
"""In our words, what OpenTrace's pull request 74 offers, as far as it is called."""

EXPERIMENTAL = SHARED | {
    "trainer/guide.py": GUIDE,
    "trainer/loggers.py": LOGGERS,
    "trainer/algorithms/algorithm.py": TRAINER,
    "trainer/algorithms/priority_search.py": PRIORITY_SEARCH,
    "trainer/algorithms/polca.py": """
        import socket
        from opto.trainer.algorithms.priority_search import PrioritySearch

        class POLCA(PrioritySearch):
            def __init__(self, epsilon=0.1, use_summarizer=False, *args, **kwargs):
                super().__init__(*args, **kwargs)
                if epsilon:
                    socket.create_connection(("127.0.0.1", 9))
    """,
    "trainer/algorithms/beam.py": """
        from examples.trainers.beam import Beam
        from opto.trainer.algorithms.priority_search import PrioritySearch

        class BeamSearch(PrioritySearch):
            pass

        class BeamSearchHistory(BeamSearch):
            pass

        class NoTrainer:
            pass
    """,
    "trainer/algorithms/leaves.py": "raise SystemExit('bye')\n",
    "features/optimize_anything/__init__.py": ANYTHING,
    "optimizers/optoprime_v2.py": '''
        from opto.optimizers import optoprime
        from opto.optimizers.optoprime import OptoPrime
        from opto.utils.llm import LLM

        class Symbols:
            pass

        class OptoPrimeV2(OptoPrime):
            """Answers in XML, shows variables as tags, sends blocks; suggestions lie under `variables`."""

            def __init__(self, *args, optimizer_prompt_symbol_set=None, **kwargs):
                model = kwargs.pop("llm", None)
                super().__init__(*args, **kwargs)
                self.llm = model or LLM()
                self.optimizer_prompt_symbol_set = optimizer_prompt_symbol_set or Symbols()

            def repr_node_value(self, node_dict):
                return "\\n".join(
                    f'<variable name="{k}" type="{type(v[0]).__name__}">\\n<value>\\n{v[0]}\\n</value>\\n</variable>'
                    for k, v in node_dict.items())

            def call_llm(self, system_prompt, user_prompt, verbose=False, max_tokens=8192):
                content = [{"type": "text", "text": user_prompt}]
                messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": content}]
                return self.llm(messages=messages, max_tokens=max_tokens, response_format=None).choices[0].message.content

            def _step(self, verbose=False, mask=None, *args, **kwargs):
                summary = self.summarize()
                response = self.call_llm(*self.construct_prompt(summary, mask=mask))
                if "TERMINATE" in response:
                    return {}
                return self.construct_update_dict(self.extract_llm_suggestion(response)["variables"])
    ''',
    "optimizers/__init__.py": """
        from opto.optimizers.optoprime import OptoPrime
        from opto.optimizers.optoprimemulti import OptoPrimeMulti
        from opto.optimizers.opro import OPRO
        from opto.optimizers.textgrad import TextGrad
        from opto.optimizers.optoprime_v2 import OptoPrimeV2
    """,
}


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a package `opto` below `root`: the installed tracing and optimizers, and `files` over them; return its folder."""
    spec = find_spec("opto")
    assert spec is not None
    assert spec.submodule_search_locations
    installed = Path(spec.submodule_search_locations[0])
    folder = root / "opto"
    for part in ("trace", "optimizers", "utils"):
        shutil.copytree(installed / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__init__.py").write_text("")
    for name, source in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(source))
    return folder
