"""TextGrad's descent over the job's task: measure a minibatch, go backward, let the library's optimizer rewrite every variable."""

import random

import textgrad
from textgrad.autograd.string_based_ops import StringBasedFunction
from textgrad.engine import EngineLM
from textgrad.optimizer import optimizer as tgd_module

from . import knobs
from .model import Model
from .ordered import OrderedSet
from .task import mean, settings_of, shown

PURPOSE = "Run the program with these values, and say how well it does and what to improve"


class Variable(textgrad.Variable):
    """A variable that its optimizer sees whole; the library's own shows the first and last ten words."""

    def get_short_value(self, n_words_offset=10):
        """Return the value."""
        return self.get_value()


class Engine(EngineLM):
    """Asks the job's model, without the library's caches and retries."""

    def __init__(self, model, task):
        self.model_string = model.name
        self._model = model
        self._task = task

    def generate(self, content, system_prompt=None, **kwargs):
        """Return the answer to one prompt."""
        self._task.propose()
        messages = [
            {"role": "system", "content": system_prompt or self.system_prompt},
            {"role": "user", "content": content},
        ]
        return self._model.ask(messages)[0]

    def __call__(self, content, system_prompt=None, **kwargs):
        return self.generate(content, system_prompt=system_prompt)


class Descent:
    """One run: the variables, the minibatches, and what is kept."""

    def __init__(self, task, settings, engine):
        self._task = task
        self._settings = settings
        self._engine = engine
        self._rng = random.Random(task.seed)  # noqa: S311 - reproducible, not secret
        self._order = []
        self.variables = {
            name: Variable(text, role_description=task.describe(name), requires_grad=True)
            for name, text in task.initial.items()
        }
        constraints = [f"The overall goal is: {task.objective}", *settings.constraints]
        kind = tgd_module.TextualGradientDescentwithMomentum if "momentum_window" in settings.library else textgrad.TGD
        passed = {"parameters": list(self.variables.values()), "engine": engine, "constraints": constraints}
        self._optimizer = knobs.call(kind, passed, settings.library, held=(*passed, "verbose"))

    def texts(self):
        """Return the variables' values."""
        return {name: variable.value for name, variable in self.variables.items()}

    def restore(self, texts):
        """Set the variables' values."""
        for name, variable in self.variables.items():
            variable.set_value(texts[name])

    def step(self):
        """Take one step of the optimizer; tell whether its answers could be read."""
        batch = self._minibatch()
        found = self._task.measure(self.texts(), batch, origin="textgrad")
        self._optimizer.zero_grad()
        before = self.texts()
        if self._settings.mode == "graph":
            self._backward(found)
        else:
            self._attach(found)
        try:
            self._optimizer.step()
        except IndexError:  # an answer without the tags that the library asks for
            self.restore(before)
            self._task.problem.log("unreadable_answer", 1.0)
            return False
        return True

    def _attach(self, found):
        """Direct mode: the guide's words on each example are the gradient."""
        for variable in self.variables.values():
            for measured in found:
                gradient = Variable(
                    measured.feedback, role_description=f"feedback to {variable.get_role_description()}"
                )
                variable.gradients.add(gradient)
                variable.gradients_context[gradient] = {
                    "context": f"Input: {shown(self._task.inputs[measured.example])}\nScore: {measured.score:g}\n",
                    "response_desc": "the evaluation of the program with these values",
                    "variable_desc": variable.get_role_description(),
                }

    def _backward(self, found):
        """Graph mode: the library asks its backward engine for a gradient per example and variable."""
        losses = []
        for measured in found:
            words = (
                f"Input: {shown(self._task.inputs[measured.example])}\nScore: {measured.score:g}\n{measured.feedback}"
            )
            run = StringBasedFunction(lambda words=words, **_: words, function_purpose=PURPOSE)
            inputs = {f"value_{place}": v for place, v in enumerate(self.variables.values())}
            losses.append(run(inputs=inputs, response_role_description="the evaluation of the program"))
        total = losses[0] if len(losses) == 1 else textgrad.sum(losses)
        total.backward(self._engine)

    def _minibatch(self):
        size = min(self._settings.batch_size, len(self._task.train))
        if len(self._order) < size:
            self._order = list(self._task.train)
            self._rng.shuffle(self._order)
        batch, self._order = self._order[:size], self._order[size:]
        return batch


def train(task, settings):
    """Descend until the steps or the budget end; a step that validation does not like is taken back where the settings say so."""
    for module in (textgrad.variable, tgd_module):
        module.set = OrderedSet
    settings = settings_of(settings)
    model = Model(task.endpoint(), temperature=settings.temperature, max_tokens=settings.max_tokens)
    descent = Descent(task, settings, Engine(model, task))
    best = task.initial
    best_score = mean([m.score for m in task.measure(best, task.validation, origin="textgrad")])
    for _ in range(settings.num_steps):
        if not descent.step():
            continue
        texts = descent.texts()
        task.descend(texts, [best], f"textgrad:{settings.mode}")
        score = mean([m.score for m in task.measure(texts, task.validation, parents=[best])])
        better = score > best_score
        task.decide(texts, "accepted" if better or not settings.validation_revert else "rejected")
        if better or not settings.validation_revert:
            best, best_score = texts, score
        else:
            descent.restore(best)
    task.end_step()
