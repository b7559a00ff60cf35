"""A recorded job as a DSPy program: one predictor a text, whose instructions are the text."""

import inspect

import dspy
import recorded
from dspy.utils.exceptions import AdapterParseError
from recorded import settings


class Carrier(dspy.Module):
    """Answers a question by the program under optimisation."""

    def __init__(self, texts):
        super().__init__()
        for place, text in enumerate(texts):
            signature = dspy.Signature("question -> answer", text)
            setattr(self, f"part_{place}", dspy.Predict(signature))

    def forward(self, example, question):
        """Run the program on one example."""
        return MEASURE[0](self, example, question)


MEASURE = [None]


def measured(module, example, question):
    """Measure a program on one example, and leave a trace of it."""
    texts = [one.signature.__doc__ for one in module.predictors()]
    values = {**recorded.initial, **{name: unpacked(name, text) for name, text in zip(names, texts)}}
    (one,) = recorded.measure(values, [example])
    prediction = dspy.Prediction(answer=one.feedback, score=one.score)
    if dspy.settings.trace is not None:
        for predictor in module.predictors():
            dspy.settings.trace.append((predictor, {"question": question}, prediction))
    return prediction


def packed(name):
    """Return an initial text as instructions: code stands between fences."""
    text = recorded.initial[name]
    return f"```python\n{text.rstrip()}\n```" if recorded.parameters[name].kind == "code" else text


def unpacked(name, text):
    """Return the code of instructions, whose margin DSPy may have taken, or the text."""
    if recorded.parameters[name].kind != "code":
        return text
    code = text.split("```")[-2].partition("\n")[2] if text.count("```") > 1 else text
    try:
        compile(code, name, "exec")
    except (SyntaxError, ValueError):
        return code.replace("\n", "\n    ").rstrip()
    return code


def examples(split):
    """Return DSPy's examples."""
    return [
        dspy.Example(
            example=e.id, question=recorded.shown(e), answer=str(getattr(e, "reference", None) or "")
        ).with_inputs("example", "question")
        for e in split
    ]


def feedback(gold, prediction, *_, **__):
    """A metric with the task's words."""
    return dspy.Prediction(score=prediction.score, feedback=prediction.answer)


def scaled(gold, prediction, *_, **__):
    """A metric that is a number; the library rounds it to the fourth decimal place."""
    return prediction.score * settings.score_scale


def compiled(optimizer, made, compiling, program=None):
    """Run an optimizer, with the job's further settings for whichever of its two calls takes them."""
    takes = inspect.signature(optimizer).parameters
    made |= {name: value for name, value in settings.library.items() if name in takes}
    compiling |= {name: value for name, value in settings.library.items() if name not in takes}
    with dspy.context(lm=lm, num_threads=1, max_errors=10**6):
        try:
            return optimizer(**made).compile(program or Carrier([packed(name) for name in names]), **compiling)
        except AdapterParseError as error:  # an answer that is not in the library's form
            print(error)


MEASURE[0] = measured
names = [name for name, p in recorded.parameters.items() if p.kind in settings.kinds]
sampling = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
lm = dspy.LM(
    f"openai/{recorded.model}",
    api_base=recorded.base_url,
    api_key=recorded.api_key,
    cache=False,
    num_retries=0,
    **{name: value for name, value in sampling.items() if value is not None},
)
