"""The data that crosses boundaries: frozen pydantic models, no I/O. A module is imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.specs.base import Mode, Ref, Role, Spec, Split, Values
    from tracebench_core.specs.budget import (
        ADDING,
        AXES,
        OF_CALLS,
        Axis,
        Budget,
        BudgetAxis,
        BudgetState,
        Usage,
        amounts_of,
    )
    from tracebench_core.specs.calibration import Bounds, Calibration, CalibrationKind, CaseVerdict
    from tracebench_core.specs.feedback import Candidate, Evaluation, ExampleResult, Feedback, FeedbackStatus, Raised
    from tracebench_core.specs.job import (
        Cage,
        Calibrated,
        ErrorInfo,
        FrontPoint,
        JobResult,
        JobSpec,
        JobStatus,
        Judge,
        ModelIdentity,
        ProposalCounts,
        RaisedCount,
        Runtime,
        SplitData,
        Start,
        StepResult,
    )
    from tracebench_core.specs.llm import Completion, Endpoint, Message
    from tracebench_core.specs.models import ListedModel, LLMConfig, LLMVariant, ModelConfig, RoleConfig
    from tracebench_core.specs.named import PluginsConfig, Price
    from tracebench_core.specs.order import ExecutorSetting, JobOrder, Sealed, SharedLimits, WorkerState
    from tracebench_core.specs.parts import (
        AggregateSpec,
        AttackSpec,
        EnvironmentSpec,
        ProviderSpec,
        StubFormatSpec,
        ViewSpec,
    )
    from tracebench_core.specs.run import (
        InitialFrom,
        ProgramsConfig,
        Resume,
        RetriesConfig,
        RunConfig,
        SandboxConfig,
        SweepRange,
        TaskEntry,
        TrainerEntry,
    )
    from tracebench_core.specs.salts import PUBLIC, Salts
    from tracebench_core.specs.sandbox import Limits, Outcome, OutcomeStatus
    from tracebench_core.specs.task import (
        Example,
        Objective,
        Parameter,
        Requirement,
        Resources,
        SuiteSpec,
        TaskSizes,
        TaskSpec,
        TaskVersion,
    )
    from tracebench_core.specs.trainer import (
        Component,
        CostEstimate,
        Exclusion,
        ExecutorSpec,
        GuideSpec,
        LoggerSpec,
        OptimizerSpec,
        PythonSpec,
        Range,
        ReporterSpec,
        Source,
        TaskShape,
        TrainerSpec,
    )

__all__ = [
    "ADDING",
    "AXES",
    "OF_CALLS",
    "PUBLIC",
    "AggregateSpec",
    "AttackSpec",
    "Axis",
    "Bounds",
    "Budget",
    "BudgetAxis",
    "BudgetState",
    "Cage",
    "Calibrated",
    "Calibration",
    "CalibrationKind",
    "Candidate",
    "CaseVerdict",
    "Completion",
    "Component",
    "CostEstimate",
    "Endpoint",
    "EnvironmentSpec",
    "ErrorInfo",
    "Evaluation",
    "Example",
    "ExampleResult",
    "Exclusion",
    "ExecutorSetting",
    "ExecutorSpec",
    "Feedback",
    "FeedbackStatus",
    "FrontPoint",
    "GuideSpec",
    "InitialFrom",
    "JobOrder",
    "JobResult",
    "JobSpec",
    "JobStatus",
    "Judge",
    "LLMConfig",
    "LLMVariant",
    "Limits",
    "ListedModel",
    "LoggerSpec",
    "Message",
    "Mode",
    "ModelConfig",
    "ModelIdentity",
    "Objective",
    "OptimizerSpec",
    "Outcome",
    "OutcomeStatus",
    "Parameter",
    "PluginsConfig",
    "Price",
    "ProgramsConfig",
    "ProposalCounts",
    "ProviderSpec",
    "PythonSpec",
    "Raised",
    "RaisedCount",
    "Range",
    "Ref",
    "ReporterSpec",
    "Requirement",
    "Resources",
    "Resume",
    "RetriesConfig",
    "Role",
    "RoleConfig",
    "RunConfig",
    "Runtime",
    "Salts",
    "SandboxConfig",
    "Sealed",
    "SharedLimits",
    "Source",
    "Spec",
    "Split",
    "SplitData",
    "Start",
    "StepResult",
    "StubFormatSpec",
    "SuiteSpec",
    "SweepRange",
    "TaskEntry",
    "TaskShape",
    "TaskSizes",
    "TaskSpec",
    "TaskVersion",
    "TrainerEntry",
    "TrainerSpec",
    "Usage",
    "Values",
    "ViewSpec",
    "WorkerState",
    "amounts_of",
]

__getattr__ = imported_on_use(
    __name__,
    {
        ".base": "Mode Ref Role Spec Split Values",
        ".calibration": "Bounds Calibration CalibrationKind CaseVerdict",
        ".feedback": "Candidate Evaluation ExampleResult Feedback FeedbackStatus Raised",
        ".budget": "ADDING AXES Axis Budget BudgetAxis BudgetState OF_CALLS Usage amounts_of",
        ".job": (
            "Cage Calibrated ErrorInfo FrontPoint JobResult JobSpec JobStatus Judge ModelIdentity ProposalCounts "
            "RaisedCount Runtime SplitData Start StepResult"
        ),
        ".llm": "Completion Endpoint Message",
        ".models": "LLMConfig LLMVariant ListedModel ModelConfig RoleConfig",
        ".named": "PluginsConfig Price",
        ".order": "ExecutorSetting JobOrder Sealed SharedLimits WorkerState",
        ".run": (
            "InitialFrom ProgramsConfig Resume RetriesConfig RunConfig SandboxConfig SweepRange TaskEntry TrainerEntry"
        ),
        ".salts": "PUBLIC Salts",
        ".sandbox": "Limits Outcome OutcomeStatus",
        ".parts": "AggregateSpec AttackSpec EnvironmentSpec ProviderSpec StubFormatSpec ViewSpec",
        ".task": "Example Objective Parameter Requirement Resources SuiteSpec TaskSizes TaskSpec TaskVersion",
        ".trainer": "Component CostEstimate Exclusion ExecutorSpec GuideSpec LoggerSpec "
        "OptimizerSpec PythonSpec Range ReporterSpec Source TaskShape TrainerSpec",
    },
)
