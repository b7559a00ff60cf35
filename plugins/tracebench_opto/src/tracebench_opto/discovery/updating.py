"""opto's optimizers as discovered trainers use them: they set parameters themselves, so types are kept inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.errors import UsageError
from tracebench_opto.bridge.guard import guarded
from tracebench_opto.discovery.bench import Bench


class _Typed:
    """Mixed into a guarded optimizer that updates parameters itself: only values of the right type get there."""

    bench: Bench
    parameters: Sequence[Any]
    unreadable: list[str]

    def propose(self, *args: Any, **kwargs: Any) -> Any:
        """Propose, as one step of the job."""
        self.bench.next_step()
        self.unreadable.clear()
        update = super().propose(*args, **kwargs)  # type: ignore[misc]  # opto's, by mixing in
        if not update:
            self.bench.report(self.unreadable)
        return update

    def construct_update_dict(self, suggestion: Mapping[str, Any]) -> dict[Any, Any]:
        """Return typed values by node."""
        written = super().construct_update_dict(suggestion)  # type: ignore[misc]
        return self.bench.typed(self.parameters, written) if written else {}


def typed(optimizer: Any, bench: Bench) -> Any:
    """Return a class like `optimizer`, guarded, whose updates are typed.

    Raises:
        UsageError: for an optimizer that does not suggest values by name.
    """
    if not hasattr(optimizer, "construct_update_dict"):
        raise UsageError(
            f"Discovered trainers update parameters themselves, and `{optimizer.__name__}` treats them all as text.",
            hint="optimizer: OptoPrime",
        )
    return type(optimizer.__name__, (_Typed, guarded(optimizer)), {"__module__": optimizer.__module__, "bench": bench})
