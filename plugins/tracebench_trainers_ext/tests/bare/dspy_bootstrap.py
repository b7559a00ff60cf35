"""DSPy's BootstrapFewShot by hand: what its teacher and its student show."""

import dspy
from dspy_world import lm
from world import TRAIN, VISITED, tell


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.shots = dspy.Predict("question -> answer")

    def forward(self, question):
        score = float(visit(self) > 1 or int(question) < 2)
        answer = str(int(question) ** 2)
        dspy.settings.trace.append((self.shots, {"question": question}, {"answer": answer}))
        return dspy.Prediction(answer=answer, score=score)


def visit(program):
    """Remember what a program shows, and return how much it is."""
    shown = [{"question": d.question, "answer": d.answer} for d in program.shots.demos]
    if shown not in VISITED:
        VISITED.append(shown)
    return len(shown)


rows = [dspy.Example(question=str(x), answer=str(x * x)).with_inputs("question") for x in TRAIN]
with dspy.context(lm=lm):
    optimizer = dspy.BootstrapFewShot(
        metric=lambda gold, pred, trace: pred.score >= 1.0, max_bootstrapped_demos=3, max_labeled_demos=4
    )
    visit(optimizer.compile(Program(), trainset=rows))
tell()
