"""Any task as a DSPy program: one predictor per text, whose instructions are the text; what it predicts is measured at the door."""

import ast

import dspy

from .model import MOST_FAILURES, ModelGone
from .task import shown
from .texts import without_fence

FENCE = "```"


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
"""Stands outside the class: some optimizers show the class's source to the model."""


class Program:
    """Keeps a task and its carrier together: texts in, texts out, metrics for DSPy's optimizers."""

    def __init__(self, task, *, origin, kinds=("text", "code"), scale=1.0, demos=False):
        """`demos`: a predictor's demonstrations are shown below its text, and a trace holds references in place of the guide's words."""
        self.task = task
        self.demos = demos
        self.origin = origin
        self.scale = scale
        self.names = [n for n, p in task.parameters.items() if p.kind in kinds]
        self.carrier = Carrier([self._packed(name, task.initial[name]) for name in self.names])
        MEASURE[0] = self._measure

    def examples(self, split):
        """Return DSPy's examples of a split."""
        return [
            dspy.Example(example=e.id, question=shown(e), answer=str(getattr(e, "reference", None) or "")).with_inputs(
                "example", "question"
            )
            for e in split
        ]

    def texts(self, module):
        """Return the task's texts as a module holds them."""
        found = {n: self._unpacked(n, p.signature.__doc__) for n, p in zip(self.names, module.predictors())}
        if self.demos:
            shown_below = {n: below(p.demos) for n, p in zip(self.names, module.predictors())}
            found |= {n: found[n] + shown_below[n] for n in found if self.task.parameters[n].kind == "text"}
        return {**self.task.initial, **found}

    def named(self, texts):
        """Return texts that DSPy holds by the names of its predictors under the task's own names."""
        own = dict(zip([n for n, _ in self.carrier.named_predictors()], self.names))
        found = {own[name]: self._unpacked(own[name], text) for name, text in texts.items() if name in own}
        return found if len(found) < len(self.names) else {**self.task.initial, **found}

    def score(self, gold, prediction, trace=None):
        """A metric that is a number; what could not be measured is below all that was."""
        return prediction.score * self.scale

    def feedback_of_simba(self, gold, prediction, trace=None):
        """The same for SIMBA, which shows all but the score to the model."""
        return dspy.Prediction(score=prediction.score, feedback=prediction.answer)

    def feedback(self, gold, prediction, trace=None, pred_name=None, pred_trace=None):
        """A metric with the guide's words, for optimizers that read them."""
        return dspy.Prediction(score=prediction.score, feedback=prediction.answer)

    def _measure(self, module, example, question):
        (found,) = self.task.measure(self.texts(module), [example], origin=self.origin)
        prediction = dspy.Prediction(answer=found.feedback, score=found.score)  # shown to the model
        if dspy.settings.trace is not None:
            reference = getattr(self.task.inputs[example], "reference", None)
            traced = dspy.Prediction(answer=str(reference)) if self.demos else prediction
            for predictor in module.predictors():
                dspy.settings.trace.append((predictor, {"question": question}, traced))
        return prediction

    def _packed(self, name, text):
        """Return a text as instructions: code goes between fences, where DSPy's clean-up leaves its indentation alone."""
        return f"{FENCE}python\n{text.rstrip()}\n{FENCE}" if self.task.parameters[name].kind == "code" else text

    def _unpacked(self, name, text):
        if self.task.parameters[name].kind != "code":
            return text
        return reindented(inner(text))


def below(demos):
    """Return demonstrations as they are shown below a text; nothing where there are none."""
    pairs = [f"Question: {one.get('question', '')}\nAnswer: {one.get('answer', '')}" for one in demos]
    return "".join(f"\n\n{pair}" for pair in ["Examples:", *pairs]) if pairs else ""


def inner(text):
    """Return the last fenced block of a text, or the text."""
    parts = text.split(FENCE)
    if len(parts) < 3:  # noqa: PLR2004 - before, inside, after
        return without_fence(text)
    block = parts[-2]
    return block.partition("\n")[2] if "\n" in block else block


def reindented(code):
    """Return code whose lines after the first lost a common margin to `inspect.cleandoc` with that margin again, where this mends it."""
    if parses(code):
        return code
    first, _, rest = code.partition("\n")
    for margin in ("    ", "  ", "\t"):
        mended = "\n".join([first, *(margin + line if line.strip() else line for line in rest.split("\n"))])
        if parses(mended):
            return mended
    return code


def parses(code):
    """Tell whether a text is Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


class GatewayLM(dspy.LM):
    """DSPy's own client, without cache and retries, which gives up when call after call fails."""

    def __init__(self, task, *, temperature=None, max_tokens=None):
        endpoint = task.endpoint()
        given = {k: v for k, v in {"temperature": temperature, "max_tokens": max_tokens}.items() if v is not None}
        super().__init__(
            f"openai/{endpoint.model}",
            api_base=endpoint.base_url,
            api_key=endpoint.api_key,
            cache=False,
            num_retries=0,
            **given,
        )
        self.bench = task
        self.failures = [0]

    def __call__(self, *args, **kwargs):
        """Ask the model; a step of the job begins with each proposal that follows an evaluation."""
        self.bench.propose()
        try:
            answer = super().__call__(*args, **kwargs)
        except Exception as error:
            self.failures[0] += 1
            if self.failures[0] >= MOST_FAILURES:
                words = f"{self.failures[0]} calls in a row failed; the last one: {error}"
                raise ModelGone(words) from error
            raise
        self.failures[0] = 0
        return answer
