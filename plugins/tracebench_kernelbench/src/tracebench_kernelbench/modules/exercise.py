"""What the judge of Python candidates needs of a problem, for problems of our own and for KernelBench's."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tracebench_core.contracts import NotMeasured, Sandbox, Session
from tracebench_core.specs import Limits, Outcome
from tracebench_kernelbench.building import Built, build_kernel
from tracebench_kernelbench.modules import harness, memory
from tracebench_kernelbench.modules.ahead import build_ahead
from tracebench_kernelbench.modules.backends import NUMBA, Backend
from tracebench_kernelbench.modules.comparing import Arrays, Tolerance
from tracebench_kernelbench.modules.inputs import widened
from tracebench_kernelbench.problem import Problem

_OF_MODULES = Tolerance(1e-4, 1e-4, by_scale=True)


class Exercise(Protocol):
    """One problem with one backend."""

    @property
    def backend(self) -> Backend:
        """What a candidate is written with."""
        ...

    @property
    def tolerance(self) -> Tolerance:
        """How far outputs may lie from the right ones."""
        ...

    @property
    def slack(self) -> float:
        """How many times farther than from the truth a candidate may lie from the reference, which has errors of its own."""
        ...

    @property
    def shared_mb(self) -> int:
        """The size of the memory that each session shares with the judge."""
        ...

    def ordered(self) -> dict[str, Any]:
        """Return what tells a server this problem: fields of `server.orders.Order`."""
        ...

    def open_desk(self, sandbox: Sandbox, limits: Limits) -> Session:
        """Open a trusted session that draws inputs.

        Raises:
            NotMeasured: when it does not start.
        """
        ...

    def open_reference(self, sandbox: Sandbox, limits: Limits) -> Session:
        """Open a trusted session that draws inputs, too, and that a call without arguments has do the work.

        Raises:
            NotMeasured: when it does not start.
        """
        ...

    def build(self, sandbox: Sandbox, source: str, seconds: float) -> Built:
        """Build what a session cannot; empty where there is nothing to build.

        Raises:
            NotMeasured: when the compiler cannot be run.
        """
        ...

    def open_candidate(
        self, sandbox: Sandbox, source: str, built: Built, reference: Session, limits: Limits
    ) -> tuple[Session, Outcome]:
        """Open a candidate's session, which a call without arguments has do the work; the outcome says how its loading ended."""
        ...

    def halve(self, reference: Session, *, half: bool) -> None:
        """Have a trusted session work with weights of half precision, or with its own again; nothing where there are none.

        Raises:
            NotMeasured: when it does not.
        """
        ...

    def settle(self, session: Session) -> Outcome:
        """Have what a session made so far lie in huge pages; the value is how many bytes of its weights do not, and how many kilobytes of
        memory the process has taken at most."""
        ...

    def room(self, limits: Limits, needed_mb: int) -> Limits:
        """Return the limits with room for a process that needs so much memory."""
        ...

    def draw(self, seed: int, reference: Session, *, wide: bool) -> Sequence[Any]:
        """Return the inputs of a seed, drawn here or in a trusted session; `wide` says that they may be widened (`inputs`)."""
        ...

    def give(self, session: Session, inputs: Sequence[Any], *, turn: int) -> None:
        """Write the inputs of a turn's call where the session's process finds them, and nothing right where it leaves outputs."""
        ...

    def take(self, session: Session, *, turn: int) -> Arrays:
        """Return copies of the outputs of a turn's call, the last.

        Raises:
            Unreadable: when the process says nothing of them that could be true.
        """
        ...

    def truth(self, seed: int) -> Arrays | None:
        """Return the right outputs, farther computed than the reference's; None where the reference is the truth."""
        ...


def asked(outcome: Outcome) -> Any:
    """Return the value of a trusted call.

    Raises:
        NotMeasured: when it has none.
    """
    if outcome.status != "ok":
        why = outcome.error or outcome.traceback
        if is_short(outcome):
            here = memory.machine_mb("MemTotal")
            raise NotMeasured(
                f"The reference needs more memory than half of this machine's {here} MB: {why}", retry=False
            )
        raise NotMeasured(f"The reference failed ({outcome.status}): {why}")
    return outcome.value


def is_short(outcome: Outcome) -> bool:
    """Tell whether a process wanted more memory than it may take: PyTorch says so in words of its own."""
    return outcome.status == "memory" or "can't allocate memory" in outcome.error


@contextmanager
def closed_on_failure(session: Session) -> Iterator[None]:
    """Close a session where what is done with it fails."""
    try:
        yield
    except BaseException:
        session.close()
        raise


@dataclass(frozen=True)
class OwnExercise:
    """A problem of our own: a candidate defines `kernel(*inputs, out)` over numpy arrays, and is compared with the plain C."""

    problem: Problem
    backend: Backend = NUMBA
    slack: float = 2.0

    @property
    def tolerance(self) -> Tolerance:
        """See `Exercise`."""
        return Tolerance(self.problem.rtol, self.problem.atol)

    @property
    def shared_mb(self) -> int:
        """See `Exercise`."""
        return (self._begin[0] + memory.PLACES * self._step >> 20) + 1

    @property
    def _begin(self) -> Sequence[int]:
        return memory.places([4 * array.count for array in self.problem.arrays])

    @property
    def _step(self) -> int:
        """Bytes from one place of the arrays to the next."""
        first, last = memory.places([*(4 * array.count for array in self.problem.arrays), 0])[
            :: len(self.problem.arrays)
        ]
        return last - first

    def ordered(self) -> dict[str, Any]:
        """See `Exercise`."""
        return {"problem": self.problem.name}

    def open_desk(self, sandbox: Sandbox, limits: Limits) -> Session:
        """See `Exercise`."""
        return self.open_reference(sandbox, limits)

    def open_reference(self, sandbox: Sandbox, limits: Limits) -> Session:
        """See `Exercise`."""
        built = build_kernel(sandbox, self.problem.source, self.problem.signature)
        if not built.binary:
            raise NotMeasured(f"The plain kernel does not build here: {built.words}", retry=False)
        session = sandbox.session(
            harness.of_library(self.problem, self._begin, self._step), "_judge_work", limits=limits
        )
        with closed_on_failure(session):
            asked(session.call(base64.b64decode(built.binary), entry="_judge_load"))
        return session

    def build(self, sandbox: Sandbox, source: str, seconds: float) -> Built:
        """See `Exercise`."""
        return Built()

    def open_candidate(
        self, sandbox: Sandbox, source: str, built: Built, reference: Session, limits: Limits
    ) -> tuple[Session, Outcome]:
        """See `Exercise`."""
        prelude = harness.around_kernel(self.problem, self._begin, self._step)
        session = sandbox.session(source, "_judge_work", limits=limits, prelude=prelude)
        return session, Outcome(status="ok")

    def halve(self, reference: Session, *, half: bool) -> None:
        """See `Exercise`."""

    def settle(self, session: Session) -> Outcome:
        """See `Exercise`."""
        return Outcome(status="ok", value=(0, 0))

    def room(self, limits: Limits, needed_mb: int) -> Limits:
        """See `Exercise`."""
        return limits

    def draw(self, seed: int, reference: Session, *, wide: bool) -> Sequence[Any]:
        """See `Exercise`."""
        return self.problem.draw(seed)

    def give(self, session: Session, inputs: Sequence[Any], *, turn: int) -> None:
        """See `Exercise`."""
        output = self.problem.output
        empty = np.full(output.count, np.nan if output.kind == "f" else -1, output.dtype)
        place = _place(turn)
        session.shared[memory.PLACE] = place
        for at, array in zip(self._begin, [*inputs, empty], strict=True):
            memory.put(session.shared, at + place * self._step, array)

    def take(self, session: Session, *, turn: int) -> Arrays:
        """See `Exercise`."""
        at, output = self._begin[-1] + _place(turn) * self._step, self.problem.output
        return [memory.take(session.shared, at, output.shape, output.dtype)]

    def truth(self, seed: int) -> Arrays | None:
        """See `Exercise`."""
        output = self.problem.output
        return [self.problem.expected(seed).reshape(output.shape).astype(output.dtype)]


@dataclass(frozen=True)
class ModuleExercise:
    """A problem of KernelBench: a candidate defines `ModelNew`, and is compared with `Model`."""

    code: str
    backend: Backend
    tolerance: Tolerance = _OF_MODULES
    slack: float = 1.0
    shared_mb: int = memory.SIZE_MB
    before: str = ""
    """Code that runs before the module, and before a candidate."""
    seed: int = field(default_factory=lambda: secrets.randbits(31), repr=False)
    """Of weights: a module and its replacement get the same ones where they make them in the same order, and no source knows them."""

    def ordered(self) -> dict[str, Any]:
        """See `Exercise`."""
        return {"reference": self.code}

    def open_desk(self, sandbox: Sandbox, limits: Limits) -> Session:
        """See `Exercise`: it makes no weights."""
        return sandbox.session(harness.of_problem(self.code, before=self.before), "_judge_work", limits=limits)

    def open_reference(self, sandbox: Sandbox, limits: Limits) -> Session:
        """See `Exercise`."""
        session = self.open_desk(sandbox, limits)
        with closed_on_failure(session):
            init = asked(session.call(self.seed, entry="_judge_init"))
            asked(session.call(self.seed, init, "Model", entry="_judge_build"))
        return session

    def build(self, sandbox: Sandbox, source: str, seconds: float) -> Built:
        """See `Exercise`."""
        if self.backend.ahead is None:
            return Built()
        return build_ahead(
            sandbox, self.backend.ahead, source, self.code, before=self.before, seed=self.seed, seconds=seconds
        )

    def open_candidate(
        self, sandbox: Sandbox, source: str, built: Built, reference: Session, limits: Limits
    ) -> tuple[Session, Outcome]:
        """See `Exercise`."""
        binary = base64.b64decode(built.binary)
        if self.backend.ahead == "package":
            session = sandbox.session(harness.of_package(), "_judge_work", limits=limits)
            return session, session.call(binary, entry="_judge_load")
        if self.backend.ahead == "extension":
            session = sandbox.session(harness.of_extension(before=self.before), "_judge_work", limits=limits)
            loaded = session.call(binary, source, entry="_judge_load")
            return session, loaded if loaded.status != "ok" else self._make(session, reference)
        session = sandbox.session(
            source,
            "_judge_work",
            limits=limits,
            prelude=harness.around_module(self.backend.environ, before=self.before),
        )
        return session, self._make(session, reference)

    def _make(self, session: Session, reference: Session) -> Outcome:
        init = asked(reference.call(self.seed, entry="_judge_init"))
        return session.call(self.seed, init, "ModelNew", entry="_judge_build")

    def halve(self, reference: Session, *, half: bool) -> None:
        """See `Exercise`."""
        asked(reference.call(half, entry="_judge_halve"))

    def settle(self, session: Session) -> Outcome:
        """See `Exercise`."""
        return session.call(entry="_judge_settle")

    def room(self, limits: Limits, needed_mb: int) -> Limits:
        """Return limits by which the process may take twice as much: inputs and outputs of a call may lie beside those of the last."""
        more = max(2 * needed_mb - memory.HEAP_MB, 0)
        return limits.model_copy(update={"memory_mb": limits.memory_mb + more, "shared_mb": self.shared_mb + more})

    def draw(self, seed: int, reference: Session, *, wide: bool) -> Sequence[Any]:
        """See `Exercise`."""
        plain = asked(reference.call(seed % (1 << 63), entry="_judge_draw"))
        arrays = iter(memory.told(reference.shared))
        drawn = [next(arrays) if value is None else value[0] for value in plain]
        return [widened(value) for value in drawn] if wide else drawn

    def give(self, session: Session, inputs: Sequence[Any], *, turn: int) -> None:
        """See `Exercise`."""
        memory.say(session.shared, inputs, turn=turn)

    def take(self, session: Session, *, turn: int) -> Arrays:
        """See `Exercise`."""
        return memory.told(session.shared)

    def truth(self, seed: int) -> Arrays | None:
        """See `Exercise`."""
        return None


def _place(turn: int) -> int:
    """Return where the arrays of a turn lie: at one place in two turns, in each of which another process is first."""
    return turn // 2 % memory.PLACES
