"""DSPy's COPRO by hand: the instructions of one predictor are the code."""

import dspy
from world import INITIAL, TRAIN, URL, score, tell


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.code = dspy.Predict(dspy.Signature("question -> answer", f"```python\n{INITIAL}```"))

    def forward(self, x):
        text = self.code.signature.__doc__
        code = text.split("```")[1].partition("\n")[2] if "```" in text else text
        if "\n    " not in code:
            code = code.replace("\n", "\n    ", 1)
        return dspy.Prediction(score=score(code, x))


lm = dspy.LM("openai/fake-model", api_base=URL, api_key="none", cache=False, num_retries=0)
with dspy.context(lm=lm):
    dspy.COPRO(prompt_model=lm, metric=lambda gold, pred, trace=None: pred.score * 1e4, breadth=3, depth=3).compile(
        Program(),
        trainset=[dspy.Example(x=x).with_inputs("x") for x in TRAIN],
        eval_kwargs={"num_threads": 1, "display_progress": False},
    )
tell()
