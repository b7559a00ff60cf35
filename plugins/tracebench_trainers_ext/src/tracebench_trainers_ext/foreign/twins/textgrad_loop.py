"""TextGrad: feedback as gradient; a step is taken back when validation does not like it."""

import random

import recorded
import textgrad
from recorded import settings
from textgrad.engine import EngineLM
from textgrad.optimizer import optimizer as optimizers
from texts import Ordered, ask, mean_score


class Engine(EngineLM):
    model_string = recorded.model

    def generate(self, content, system_prompt=None, **kwargs):
        system = {"role": "system", "content": system_prompt or self.system_prompt}
        return ask([system, {"role": "user", "content": content}])

    __call__ = generate


class Variable(textgrad.Variable):
    """One that its optimizer sees whole, as in the trainer; the library's own shows the first and last ten words."""

    def get_short_value(self, n_words_offset=10):
        return self.get_value()


def texts():
    return {name: variable.value for name, variable in variables.items()}


textgrad.variable.set = optimizers.set = Ordered
variables = {
    name: Variable(text, role_description=recorded.describe(name), requires_grad=True)
    for name, text in recorded.initial.items()
}
kind = optimizers.TextualGradientDescentwithMomentum if "momentum_window" in settings.library else textgrad.TGD
constraints = [f"The overall goal is: {recorded.objective}", *settings.constraints]
optimizer = kind(list(variables.values()), engine=Engine(), **{"constraints": constraints, **settings.library})
rng, order, size = random.Random(recorded.seed), [], min(settings.batch_size, len(recorded.train))
best, best_score = texts(), mean_score(texts(), recorded.validation)
for _ in range(settings.num_steps):
    if len(order) < size:
        order = list(recorded.train)
        rng.shuffle(order)
    batch, order = order[:size], order[size:]
    found = recorded.measure(texts(), batch)
    optimizer.zero_grad()
    before = texts()
    for variable in variables.values():
        role = variable.get_role_description()
        for one in found:
            gradient = Variable(one.feedback, role_description=f"feedback to {role}")
            variable.gradients.add(gradient)
            variable.gradients_context[gradient] = {
                "context": f"Input: {recorded.shown(one.example)}\nScore: {one.score:g}\n",
                "response_desc": "the evaluation of the program with these values",
                "variable_desc": role,
            }
    try:
        optimizer.step()
    except IndexError:  # an answer without the tags that the library asks for
        for name, variable in variables.items():
            variable.set_value(before[name])
        continue
    score = mean_score(texts(), recorded.validation)
    if score > best_score or not settings.validation_revert:
        best, best_score = texts(), score
    else:
        for name, variable in variables.items():
            variable.set_value(best[name])
