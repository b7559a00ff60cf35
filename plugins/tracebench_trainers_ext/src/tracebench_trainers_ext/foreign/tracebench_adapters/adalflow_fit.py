"""AdalFlow's trainer over the job's task: its graph, its textual gradient descent and its tests of every proposal, through the door."""

import random
from pathlib import Path

from .adalflow_words import Words, quiet_tokenizer

quiet_tokenizer()  # before the library is imported, which would load a table of tokens from the net

import adalflow  # noqa: E402
from adalflow.optim import parameter as parameter_module  # noqa: E402
from adalflow.optim.text_grad.text_loss_with_eval_fn import EvalFnToTextLoss  # noqa: E402
from adalflow.optim.types import ParameterType  # noqa: E402

from . import knobs  # noqa: E402
from .adalflow_model import GatewayClient, LenientParser  # noqa: E402
from .model import Model  # noqa: E402
from .ordered import OrderedSet, draw_ids  # noqa: E402
from .task import settings_of, shown  # noqa: E402

HELD = (
    "adaltask",
    "ckpt_path",
    "num_workers",
    "batch_val_score_threshold",
    "train_loader",
    "train_dataset",
    "val_dataset",
    "test_dataset",
)
"""Arguments of the library's trainer that the bench holds."""


class Program(adalflow.GradComponent):
    """The task as a component: its trainable parameters are the task's own, its output the guide's words on one example."""

    def __init__(self, task):
        super().__init__(desc=task.objective or "The program under optimisation")
        self._task = task
        self._attributes = {}
        for place, (name, text) in enumerate(task.initial.items()):
            attribute = f"value_{place}"
            self._attributes[name] = attribute
            prompt = adalflow.Parameter(
                data=text,
                name=attribute,
                role_desc=task.describe(name),
                requires_opt=True,
                param_type=ParameterType.PROMPT,
                instruction_to_optimizer=f"The overall goal is: {task.objective}",
            )
            setattr(self, attribute, prompt)
        self.accepted = dict(task.initial)

    def texts(self):
        """Return the values that the library holds now, proposed or accepted."""
        return {name: str(getattr(self, attribute).data) for name, attribute in self._attributes.items()}

    def forward(self, example):
        """Measure one example, and let the graph know of which parameters the result is made."""
        values = {attribute: getattr(self, attribute) for attribute in self._attributes.values()}
        return super().forward(id=example.id, **values)

    def call(self, id, **_):  # noqa: A002 - the library's own name
        """Measure one example; as the library hands parameters on, they are those that it holds."""
        texts = self.texts()
        parents = [] if texts == self.accepted else [self.accepted]
        (found,) = self._task.measure(texts, [id], parents=parents, origin="adalflow:tgd")
        return Words(found.feedback, id=id, score=found.score)

    def bicall(self, example):
        """Answer the library: a parameter while it trains, else the words alone."""
        return self.forward(example) if self.training else self.call(example.id)

    __call__ = bicall


class Component(adalflow.AdalComponent):
    """What AdalFlow's trainer asks for; one evaluation at a time, the engine runs several where the run allows it."""

    def __init__(self, task, client, settings):
        model = {"model_client": client, "model_kwargs": {"model": client.name}}
        loss = EvalFnToTextLoss(
            eval_fn=lambda y_pred: y_pred.unit_score,
            eval_fn_desc=f"The score of the program, from 0 to 1; 0.25 stands for a score of 0, 0.75 for one of 1. {task.objective}",
        )
        super().__init__(
            task=Program(task),
            eval_fn=lambda y_pred: y_pred.unit_score,
            loss_fn=loss,
            backward_engine_model_config=model,
            text_optimizer_model_config=model,
        )
        self._examples = task
        self._settings = settings

    def prepare_task(self, sample):
        """Return the program and what it is called with."""
        return self.task, {"example": sample}

    def prepare_eval(self, sample, y_pred):
        """Return the score of an output."""
        return self.eval_fn, {"y_pred": y_pred}

    def prepare_loss(self, sample, pred):
        """Return the loss of an output; a reference is shown where the task has one for its training examples."""
        pred.eval_input = pred.data
        reference = getattr(sample, "reference", None)
        given = {"input": {"example": shown(sample)}, "gt": "not known" if reference is None else reference}
        return self.loss_fn, {"kwargs": {"y_pred": pred}, "id": sample.id, **given}

    def configure_backward_engine(self, *args, **kwargs):
        """Set the engine of gradients up, without the library's cache."""
        super().configure_backward_engine(*args, **kwargs)
        self.backward_engine._use_cache = False  # noqa: SLF001 - it has no other switch

    def configure_text_optimizer_helper(self, **kwargs):
        """Set the optimizers up with a parser that finds code in an answer which is no XML."""
        optimizers = super().configure_text_optimizer_helper(**kwargs)
        for optimizer in optimizers:
            optimizer.llm_optimizer.output_processors = LenientParser(self._examples)
        return optimizers

    def validation_step(self, batch, batch_idx, num_workers=1, **kwargs):
        """Measure a batch."""
        return super().validation_step(batch, batch_idx, 1, **kwargs)

    def evaluate_samples(self, samples, y_preds, metadata=None, num_workers=1, **kwargs):
        """Score outputs."""
        return super().evaluate_samples(samples, y_preds, metadata, 1, **kwargs)


class Trainer(adalflow.Trainer):
    """The library's trainer, which tells the job what it accepts and rejects."""

    def __init__(self, task, **kwargs):
        super().__init__(**kwargs)
        self._told = task

    def _step_text_optimizers(self):
        super()._step_text_optimizers()
        program = self.adaltask.task
        self._told.decide(program.texts(), "accepted")
        program.accepted = program.texts()

    def _revert_text_optimizers(self):
        self._told.decide(self.adaltask.task.texts(), "rejected")
        super()._revert_text_optimizers()


def train(task, settings):
    """Descend until the steps or the budget end."""
    settings = settings_of(settings)
    parameter_module.set = OrderedSet
    draw_ids(task.seed)  # they stand in prompts
    random.seed(task.seed)
    model = Model(task.endpoint(), temperature=settings.temperature, max_tokens=settings.max_tokens)
    passed = {
        "adaltask": Component(task, GatewayClient(model, task), settings),
        "strategy": settings.strategy,
        "max_steps": settings.max_steps,
        "train_batch_size": min(settings.train_batch_size, len(task.train)),
        "max_proposals_per_step": settings.max_proposals_per_step,
        "max_error_samples": settings.max_error_samples,
        "max_correct_samples": settings.max_correct_samples,
        "batch_val_score_threshold": Words("", id="", score=settings.perfect_score).unit_score,
        "num_workers": 1,
        "ckpt_path": str(Path("adalflow").absolute()),
        "text_optimizers_config_kwargs": {
            "max_past_history": settings.max_past_history,
            "max_failed_proposals": settings.max_failed_proposals,
        },
    }
    trainer = Trainer(task, **knobs.arguments(adalflow.Trainer, passed, settings.library, held=HELD))
    trainer.set_random_seed(task.seed % 2**32)
    trainer.fit(train_dataset=task.train, val_dataset=task.validation)
    task.end_step()
