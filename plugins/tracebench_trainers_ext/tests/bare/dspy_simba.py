"""DSPy's SIMBA by hand, rules only: each input wants another number of them."""

import dspy
from dspy_world import examples, lm
from world import SEED, TRAIN, VISITED, tell


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.answer = dspy.Predict(dspy.Signature("x -> answer", "Answer."))

    def forward(self, x):
        text = self.answer.signature.__doc__
        if text not in VISITED:
            VISITED.append(text)
        prediction = dspy.Prediction(answer="", score=1.0 / (1.0 + abs(text.count("Rule") - x)))
        dspy.settings.trace.append((self.answer, {"x": x}, prediction))
        return prediction


with dspy.context(lm=lm):
    dspy.SIMBA(
        metric=lambda gold, pred: pred.score,
        bsize=4,
        num_candidates=4,
        max_steps=4,
        max_demos=0,
        prompt_model=lm,
        num_threads=1,
    ).compile(Program(), trainset=examples(TRAIN), seed=SEED)
tell()
