"""TextGrad by hand: feedback as gradient, a step is taken back when validation does not like it."""

import random

import textgrad as tg
from textgrad.engine import EngineLM
from world import INITIAL, SEED, TRAIN, VALIDATION, ask, score, tell


class Engine(EngineLM):
    model_string = "fake-model"

    def generate(self, content, system_prompt=None, **kwargs):
        return ask(content, system_prompt)

    __call__ = generate


def validate():
    return sum(score(code.value, x) for x in VALIDATION) / len(VALIDATION)


code = tg.Variable(INITIAL, role_description="a function", requires_grad=True)
optimizer = tg.TGD([code], engine=Engine())
rng, order = random.Random(SEED), []
best, best_score = code.value, validate()
for _ in range(8):
    if len(order) < 3:
        order = list(TRAIN)
        rng.shuffle(order)
    batch, order = order[:3], order[3:]
    words = "\n".join(f"transform({x}) scores {score(code.value, x)}" for x in batch)
    optimizer.zero_grad()
    gradient = tg.Variable(words, role_description="feedback")
    code.gradients.add(gradient)
    code.gradients_context[gradient] = {"context": "", "response_desc": "score", "variable_desc": "a function"}
    optimizer.step()
    found = validate()
    if found > best_score:
        best, best_score = code.value, found
    else:
        code.set_value(best)
tell()
