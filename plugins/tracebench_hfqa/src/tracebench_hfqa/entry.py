"""One declared task: an entry of a task file, in the format of `hf_tasks.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tracebench_core.specs.base import Spec
from tracebench_hfqa.families.family import Fields

ContextFormat = Literal["hotpot_qa", "musique", "none", "plain", "bbeh"]
TaskType = Literal[
    "hfqa",
    "bbeh",
    "drop",
    "gsm8k",
    "ifeval",
    "math",
    "mcqa",
    "musique",
    "qasper",
    "simpleqa",
    "strategy_qa",
    "code_exec",
    "small",
    "tools",
    "words",
]
Agent = Literal["hfqa", "bbeh", "code"]
ProgramName = Literal["instructions", "chain_of_thought", "few_shot", "two_hop", "template", "code", "tools"]
PROGRAM_OF_AGENT: dict[str, ProgramName] = {"hfqa": "instructions", "bbeh": "template", "code": "code"}


class Entry(Spec):
    """A data set, where its columns are, how replies are scored, and which program is optimised."""

    id: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$")
    """The task is `hf:<id>`, or `hf:<id>/<subtask>` for each of `subtasks`."""
    dataset_id: str
    """Name on the hub, `owner/name`."""
    dataset_config: str | None = None
    revision: str | None = None
    """Commit or tag on the hub; without one, the commit that was first downloaded stays in use."""
    split: str | None = None
    """Stands in for `train_split` and `test_split`."""
    train_split: str | None = None
    """Train and validation rows come from here."""
    test_split: str | None = None
    num_train: int = Field(default=10, ge=1)
    num_validate: int = Field(default=0, ge=0)
    num_test: int = Field(default=0, ge=0)
    question_field: str = "question"
    answer_field: str = "answer"
    context_field: str | None = None
    context_format: ContextFormat = "none"
    options_field: str | None = None
    answer_index_base: int | None = Field(default=None, ge=0, le=1)
    """What an answer given as an index counts from; told from the rows when None."""
    test_field: str | None = None
    entry_field: str | None = None
    setup_field: str | None = None
    timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds that a program written by the model has for one row."""
    task_type: TaskType | None = None
    """How rows are read and replies scored; `agent_class` when None."""
    agent_class: Agent = "hfqa"
    """The program: `hfqa` instructions, `bbeh` a template and extraction code, `code` a template for programs."""
    program: ProgramName | None = None
    """The program by name, where `agent_class` does not say enough."""
    subtasks: tuple[str, ...] = ()
    """Splits of the data set that are tasks of their own."""
    subtasks_are: Literal["splits", "configs"] = "splits"
    """Or configs of it, each of which has the entry's splits."""
    title: str = ""
    description: str = ""
    objective: str = "Optimize the agent's instructions for this QA task."
    initial_instructions: str | None = None
    licence: str = ""
    citation: str = ""
    shipped: bool = False
    """The rows come with the plugin, all of them."""
    aggregate: str = "mean"
    """How the scores of the rows become the candidate's."""
    version: int = Field(default=1, ge=1)
    """Raise it when scores before and after must not be pooled."""
    versions: dict[str, int] = Field(default_factory=dict)
    """The same for single subtasks."""

    @model_validator(mode="after")
    def _has_a_split(self) -> Entry:
        if not (self.split or self.train_split or self.subtasks):
            raise ValueError("needs `split`, `train_split` or `subtasks`")
        return self

    @property
    def family(self) -> str:
        """Name of the family module."""
        return self.task_type or {"hfqa": "hfqa", "bbeh": "bbeh", "code": "code_exec"}[self.agent_class]

    @property
    def default_program(self) -> ProgramName:
        """Name of the program when the options name none."""
        return self.program or PROGRAM_OF_AGENT[self.agent_class]

    @property
    def fields(self) -> Fields:
        """Return which columns hold what."""
        return Fields(
            question=self.question_field,
            answer=self.answer_field,
            context=self.context_field or "",
            context_format="none" if self.context_format == "bbeh" else self.context_format,
            options=self.options_field or "",
            test=self.test_field or "",
            entry=self.entry_field or "",
            setup=self.setup_field or "",
            answer_index_base=self.answer_index_base,
        )

    def of_subtask(self, subtask: str | None) -> Entry:
        """Return the entry with the config that a subtask is, where subtasks are configs."""
        if subtask is None or self.subtasks_are == "splits":
            return self
        return self.model_copy(update={"dataset_config": subtask})

    def splits(self, subtask: str | None) -> tuple[str, str]:
        """Return the data set's split for training and validation, and the one for test."""
        if subtask is not None and self.subtasks_are == "splits":
            return subtask, subtask
        train = self.train_split or self.split or "train"
        return train, self.test_split or self.split or train
