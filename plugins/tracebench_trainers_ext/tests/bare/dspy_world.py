"""The toy as a DSPy program: the instructions of one predictor are the code, or words with a score of their own."""

import dspy
from world import INITIAL, URL, score

lm = dspy.LM("openai/fake-model", api_base=URL, api_key="none", cache=False, num_retries=0)


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.code = dspy.Predict(dspy.Signature("x -> answer", f"```python\n{INITIAL}```"))

    def forward(self, x):
        prediction = dspy.Prediction(answer="", score=score(read(self.code.signature.__doc__), x))
        if dspy.settings.trace is not None:
            dspy.settings.trace.append((self.code, {"x": x}, prediction))
        return prediction


def read(text):
    """Return the code of instructions, whose margin DSPy may have taken."""
    code = text.split("```")[1].partition("\n")[2] if "```" in text else text
    return code if "\n    " in code else code.replace("\n", "\n    ", 1)


def examples(inputs):
    """Return inputs as DSPy's examples."""
    return [dspy.Example(x=x).with_inputs("x") for x in inputs]
