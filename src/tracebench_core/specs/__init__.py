"""The data that crosses boundaries: frozen pydantic models, no I/O. A module is imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.specs.base import (
        Mode as Mode,
        Ref as Ref,
        Role as Role,
        Spec as Spec,
        Split as Split,
        Values as Values,
    )
    from tracebench_core.specs.budget import (
        ADDING as ADDING,
        AXES as AXES,
        OF_CALLS as OF_CALLS,
        Axis as Axis,
        Budget as Budget,
        BudgetAxis as BudgetAxis,
        BudgetState as BudgetState,
        Usage as Usage,
        amounts_of as amounts_of,
    )
    from tracebench_core.specs.calibration import (
        Bounds as Bounds,
        Calibration as Calibration,
        CalibrationKind as CalibrationKind,
        CaseVerdict as CaseVerdict,
    )
    from tracebench_core.specs.feedback import (
        Candidate as Candidate,
        Evaluation as Evaluation,
        ExampleResult as ExampleResult,
        Feedback as Feedback,
        FeedbackStatus as FeedbackStatus,
        Raised as Raised,
    )
    from tracebench_core.specs.job import (
        Cage as Cage,
        Calibrated as Calibrated,
        ErrorInfo as ErrorInfo,
        FrontPoint as FrontPoint,
        Gain as Gain,
        JobResult as JobResult,
        JobSpec as JobSpec,
        JobStatus as JobStatus,
        Judge as Judge,
        ModelIdentity as ModelIdentity,
        ProposalCounts as ProposalCounts,
        RaisedCount as RaisedCount,
        Runtime as Runtime,
        SplitData as SplitData,
        Start as Start,
        StepResult as StepResult,
    )
    from tracebench_core.specs.models import Completion as Completion, Endpoint as Endpoint, Message as Message
    from tracebench_core.specs.models import (
        ListedModel as ListedModel,
        LLMConfig as LLMConfig,
        LLMVariant as LLMVariant,
        ModelConfig as ModelConfig,
        RoleConfig as RoleConfig,
    )
    from tracebench_core.specs.named import PluginsConfig as PluginsConfig, Price as Price
    from tracebench_core.specs.order import (
        ExecutorSetting as ExecutorSetting,
        JobOrder as JobOrder,
        Sealed as Sealed,
        SharedLimits as SharedLimits,
        Use as Use,
        WorkerState as WorkerState,
    )
    from tracebench_core.specs.parts import (
        AgentSpec as AgentSpec,
        AggregateSpec as AggregateSpec,
        AttackSpec as AttackSpec,
        EnvironmentSpec as EnvironmentSpec,
        ProviderSpec as ProviderSpec,
        StubFormatSpec as StubFormatSpec,
        ViewSpec as ViewSpec,
        Wire as Wire,
    )
    from tracebench_core.specs.run import (
        InitialFrom as InitialFrom,
        ProgramsConfig as ProgramsConfig,
        Resume as Resume,
        RetriesConfig as RetriesConfig,
        RunConfig as RunConfig,
        SandboxConfig as SandboxConfig,
        SweepRange as SweepRange,
        TaskEntry as TaskEntry,
        TrainerEntry as TrainerEntry,
    )
    from tracebench_core.specs.salts import PUBLIC as PUBLIC, Salts as Salts
    from tracebench_core.specs.sandbox import Limits as Limits, Outcome as Outcome, OutcomeStatus as OutcomeStatus
    from tracebench_core.specs.task import (
        Example as Example,
        Objective as Objective,
        Parameter as Parameter,
        Requirement as Requirement,
        Resources as Resources,
        SuiteSpec as SuiteSpec,
        TaskSizes as TaskSizes,
        TaskSpec as TaskSpec,
        TaskVersion as TaskVersion,
    )
    from tracebench_core.specs.trainer import (
        Component as Component,
        CostEstimate as CostEstimate,
        Exclusion as Exclusion,
        ExecutorSpec as ExecutorSpec,
        GuideSpec as GuideSpec,
        LoggerSpec as LoggerSpec,
        OptimizerSpec as OptimizerSpec,
        PythonSpec as PythonSpec,
        Range as Range,
        ReporterSpec as ReporterSpec,
        Source as Source,
        TaskShape as TaskShape,
        TrainerSpec as TrainerSpec,
    )

__getattr__ = imported_on_use(__name__)
