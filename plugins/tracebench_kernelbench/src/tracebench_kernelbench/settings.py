"""What the user told the suite, for this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = "KERNELBENCH_ROOT"


@dataclass
class Settings:
    """The settings that listing and loading share."""

    shared: Path | None = None
    """The root of the command line, which is for all suites."""
    own: Path | None = None
    """The option `root` of this plugin."""

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take what a config or the command line says."""
        own, shared = (settings.get("options") or {}).get("root"), settings.get("root")
        self.own = Path(own).expanduser().absolute() if own else None
        self.shared = Path(shared).expanduser().absolute() if shared else None

    @property
    def root(self) -> Path | None:
        """A checkout of KernelBench, or a folder of the hub's rows; what is named for this suite alone comes first."""
        return self.own or self._of_environment or self.shared

    @property
    def is_certain(self) -> bool:
        """Say whether the root is named for this suite alone, so that it must hold KernelBench."""
        return (self.own or self._of_environment) is not None

    @property
    def _of_environment(self) -> Path | None:
        return Path(place).expanduser().absolute() if (place := os.environ.get(ROOT)) else None


SETTINGS = Settings()
