"""AdalFlow's trainer by hand: a component that measures, a loss that scores, textual gradient descent."""

import random
from types import SimpleNamespace

import tiktoken

tiktoken.get_encoding = lambda name: SimpleNamespace(encode=lambda text: text.split())  # no tables from the net

import adalflow  # noqa: E402
from adalflow.core.types import GeneratorOutput  # noqa: E402
from adalflow.optim.text_grad.text_loss_with_eval_fn import EvalFnToTextLoss  # noqa: E402
from adalflow.optim.types import ParameterType  # noqa: E402
from world import INITIAL, SEED, TRAIN, VALIDATION, ask, score, tell  # noqa: E402


class Client(adalflow.ModelClient):
    def convert_inputs_to_api_kwargs(self, input=None, model_kwargs=None, model_type=None):  # noqa: A002
        return {"prompt": input}

    def call(self, api_kwargs=None, model_type=None):
        return ask(api_kwargs["prompt"])

    def parse_chat_completion(self, completion):
        return GeneratorOutput(raw_response=completion)


class Program(adalflow.GradComponent):
    def __init__(self):
        super().__init__(desc="a function")
        self.code = adalflow.Parameter(data=INITIAL, role_desc="a function", param_type=ParameterType.PROMPT)

    def __call__(self, sample):
        return self.forward(id=sample.id, code=self.code) if self.training else self.call(sample.id)

    def call(self, id, **_):  # noqa: A002
        found = score(str(self.code.data), int(id))
        return SimpleNamespace(id=id, score=found)


class Component(adalflow.AdalComponent):
    def prepare_task(self, sample):
        return self.task, {"sample": sample}

    def prepare_eval(self, sample, y_pred):
        return self.eval_fn, {"y": y_pred}

    def prepare_loss(self, sample, pred):
        pred.eval_input = pred.data
        return self.loss_fn, {"kwargs": {"y": pred}, "id": sample.id}


random.seed(SEED)
model = {"model_client": Client(), "model_kwargs": {"model": "fake-model"}}
component = Component(
    task=Program(),
    eval_fn=lambda y: y.score,
    loss_fn=EvalFnToTextLoss(eval_fn=lambda y: y.score, eval_fn_desc="how close it comes"),
    backward_engine_model_config=model,
    text_optimizer_model_config=model,
)
trainer = adalflow.Trainer(adaltask=component, max_steps=4, train_batch_size=4, num_workers=1, ckpt_path="adalflow")
trainer.set_random_seed(SEED)
trainer.fit(
    train_dataset=[SimpleNamespace(id=str(x)) for x in TRAIN],
    val_dataset=[SimpleNamespace(id=str(x)) for x in VALIDATION],
)
tell()
