"""The two kinds of task: a prompt that makes a model prove programs, and a file that proves one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values
from tracebench_veribench.judge import judge
from tracebench_veribench.prover import Assignment, Language
from tracebench_veribench.replies import extract_file
from tracebench_veribench.text.gate import MAX_LENGTH

_PROMPT = """You are an expert in {title}. Translate the Python program into {title}, and prove the required theorems.
Answer with one complete file in a ```{name} code block. Every proof must be finished."""
_REPAIR = "The checker refused your file. Mend it, and answer with the whole file again in a ```{name} code block."


class FileOptions(BaseModel):
    """How a file is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: bool = False
    """Also ask a model (role `judge`) how well the theorems cover the specification: the metric `judge`, never part of the score."""
    timeout_seconds: float | None = Field(default=None, gt=0)
    """For one run of the checker; the checker's own default when None."""


class PromptOptions(FileOptions):
    """How a model is asked."""

    repair: bool = False
    """Give the model the checker's words once, by a second trainable prompt."""
    system_prompt: str = ""
    """The text to start from; a plain instruction when empty."""


class ProofTask:
    """What both kinds share: examples that hold no hidden part, and the guide."""

    def __init__(self, language: Language, splits: Mapping[Split, Sequence[Assignment]], *, judged: bool) -> None:
        self._language = language
        self._judged = judged
        self._assignments = {a.name: a for assignments in splits.values() for a in assignments}
        self.splits: Mapping[Split, Sequence[Example]] = {
            split: tuple(Example(id=a.name, input=a.prompt) for a in assignments)
            for split, assignments in splits.items()
        }

    def guide(self, example: Example, output: Any, context: Context, /) -> Feedback:
        """Judge the file stage by stage; see `stages.Verdict`."""
        assignment = self._assignments[example.id]
        feedback = assignment.verify(str(output), context).feedback()
        if not self._judged or feedback.status != "ok":
            return feedback
        opinion = judge(assignment, self._language, str(output), context)
        metrics = feedback.metrics if opinion is None else feedback.metrics | {"judge": opinion}
        return feedback.model_copy(update={"metrics": metrics})

    def close(self) -> None:
        """Do nothing: the checker is the engine's environment."""


class PromptTask(ProofTask):
    """Optimises the system prompt of a model that writes the file, and with `repair` the prompt of a second round."""

    def __init__(
        self, language: Language, splits: Mapping[Split, Sequence[Assignment]], options: PromptOptions
    ) -> None:
        super().__init__(language, splits, judged=options.judge)
        start = options.system_prompt or _PROMPT.format(title=language.title, name=language.name)
        self.objective = (
            f"Write instructions that make a language model translate Python programs into {language.title} files whose theorems "
            "are proven. A file is judged by the proof checker: it must compile, pass hidden tests, and prove every required theorem."
        )
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name="system_prompt",
                initial=start,
                description="The system prompt of the model that writes the file.",
                max_length=20_000,
            ),
            *(
                [
                    Parameter(
                        name="repair_prompt",
                        initial=_REPAIR.format(name=language.name),
                        description="What the model is told, before the checker's words, when its file fails.",
                        max_length=20_000,
                    )
                ]
                if options.repair
                else []
            ),
        )

    def run(self, values: Values, example: Example, context: Context) -> str:
        """Return the file that the model writes."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": str(values["system_prompt"])},
            {"role": "user", "content": str(example.input)},
        ]
        reply = context.complete(messages, role="agent")[0].text
        text = extract_file(reply, self._language.name)
        if "repair_prompt" not in values:
            return text
        feedback = self._assignments[example.id].verify(text, context).feedback()
        if feedback.score == 1.0:
            return text
        context.activity("repairing the file")
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": f"{values['repair_prompt']}\n\n{feedback.text}"},
        ]
        return extract_file(context.complete(messages, role="agent")[0].text, self._language.name)


class FileTask(ProofTask):
    """Optimises the file itself."""

    def __init__(self, language: Language, assignment: Assignment, options: FileOptions) -> None:
        super().__init__(language, {"train": (assignment,)}, judged=options.judge)
        self.objective = f"Write a {language.title} file that solves this problem.\n\n{assignment.prompt}"
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name="file",
                initial=assignment.skeleton,
                kind="code",
                description=f"A complete {language.title} file.",
                max_length=MAX_LENGTH,
            ),
        )

    def run(self, values: Values, example: Example, context: Context) -> str:
        """Return the file."""
        return str(values["file"])
