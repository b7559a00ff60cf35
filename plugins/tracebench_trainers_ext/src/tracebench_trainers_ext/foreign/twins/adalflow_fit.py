"""AdalFlow's trainer: a component that measures, a loss that scores, textual gradient descent."""

import random
from types import SimpleNamespace

import recorded
import tiktoken
from recorded import settings
from texts import Ordered, ask, draw_ids, read

tiktoken.get_encoding = lambda name: SimpleNamespace(encode=lambda text, **_: text.split())  # no tables from the net

import adalflow  # noqa: E402
from adalflow.core.types import GeneratorOutput  # noqa: E402
from adalflow.optim import parameter  # noqa: E402
from adalflow.optim.text_grad.text_loss_with_eval_fn import EvalFnToTextLoss  # noqa: E402
from adalflow.optim.types import ParameterType  # noqa: E402


class Client(adalflow.ModelClient):
    def convert_inputs_to_api_kwargs(self, input=None, model_kwargs=None, model_type=None):  # noqa: A002
        if "<END_OF_SYSTEM_PROMPT>" not in input:
            return {"messages": input}
        system, _, rest = input.partition("<START_OF_SYSTEM_PROMPT>")[2].partition("<END_OF_SYSTEM_PROMPT>")
        parts = {"system": system, "user": rest}
        return {"messages": [{"role": role, "content": text.strip()} for role, text in parts.items()]}

    def call(self, api_kwargs=None, model_type=None):
        return ask(api_kwargs["messages"])

    def parse_chat_completion(self, completion):
        return GeneratorOutput(raw_response=completion)


class Plain(type):
    def __repr__(cls):
        return repr(str)  # the library writes the class of each output into its prompts


class Words(str, metaclass=Plain):
    """What was said on one example, with its score between 0 and 1, as the library demands."""

    def __new__(cls, text, *, id, score):  # noqa: A002
        self = super().__new__(cls, text)
        self.id, self.score = id, score
        return self

    def __getnewargs_ex__(self):
        return (str(self),), {"id": self.id, "score": self.score}


def unit(score):
    """Return a score between 0 and 1: order is kept, and from 0 to 1 so are the distances."""
    if score < 0:
        return 0.25 / (1 - score)
    return 0.25 + 0.5 * score if score <= 1 else 1 - 0.25 / score


class Program(adalflow.GradComponent):
    def __init__(self):
        super().__init__(desc=recorded.objective or "The program under optimisation")
        self.held = {}
        for place, (name, text) in enumerate(recorded.initial.items()):
            self.held[name] = f"value_{place}"
            held = adalflow.Parameter(
                data=text,
                name=self.held[name],
                role_desc=recorded.describe(name),
                requires_opt=True,
                param_type=ParameterType.PROMPT,
                instruction_to_optimizer=f"The overall goal is: {recorded.objective}",
            )
            setattr(self, self.held[name], held)

    def __call__(self, sample):
        if not self.training:
            return self.call(sample.id)
        return self.forward(id=sample.id, **{held: getattr(self, held) for held in self.held.values()})

    def call(self, id, **_):  # noqa: A002
        texts = {name: str(getattr(self, held).data) for name, held in self.held.items()}
        (one,) = recorded.measure(read(texts), [id])
        return Words(one.feedback, id=id, score=unit(one.score))


class Component(adalflow.AdalComponent):
    def prepare_task(self, sample):
        return self.task, {"sample": sample}

    def prepare_eval(self, sample, y_pred):
        return self.eval_fn, {"y_pred": y_pred}

    def prepare_loss(self, sample, pred):
        pred.eval_input = pred.data
        reference = getattr(sample, "reference", None)
        given = {"input": {"example": recorded.shown(sample)}, "gt": "not known" if reference is None else reference}
        return self.loss_fn, {"kwargs": {"y_pred": pred}, "id": sample.id, **given}

    def configure_backward_engine(self, *args, **kwargs):
        super().configure_backward_engine(*args, **kwargs)
        self.backward_engine._use_cache = False  # noqa: SLF001


parameter.set = Ordered
draw_ids(recorded.seed)  # they stand in prompts
random.seed(recorded.seed)
model = {"model_client": Client(), "model_kwargs": {"model": recorded.model}}
component = Component(
    task=Program(),
    eval_fn=lambda y_pred: y_pred.score,
    loss_fn=EvalFnToTextLoss(
        eval_fn=lambda y_pred: y_pred.score,
        eval_fn_desc=f"The score of the program, from 0 to 1; 0.25 stands for a score of 0, 0.75 for one of 1. {recorded.objective}",
    ),
    backward_engine_model_config=model,
    text_optimizer_model_config=model,
)
given = {
    "strategy": settings.strategy,
    "max_steps": settings.max_steps,
    "train_batch_size": min(settings.train_batch_size, len(recorded.train)),
    "max_proposals_per_step": settings.max_proposals_per_step,
    "max_error_samples": settings.max_error_samples,
    "max_correct_samples": settings.max_correct_samples,
    "batch_val_score_threshold": unit(settings.perfect_score),
    "text_optimizers_config_kwargs": {
        "max_past_history": settings.max_past_history,
        "max_failed_proposals": settings.max_failed_proposals,
    },
}
trainer = adalflow.Trainer(adaltask=component, num_workers=1, ckpt_path="adalflow", **{**given, **settings.library})
trainer.set_random_seed(recorded.seed % 2**32)
trainer.fit(train_dataset=recorded.train, val_dataset=recorded.validation)
