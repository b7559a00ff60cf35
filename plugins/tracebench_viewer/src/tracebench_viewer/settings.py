"""What the pages are told about where and how they run: handed to the server's sessions through the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "TRACEBENCH_VIEWER"


@dataclass(frozen=True, slots=True)
class ViewerSettings:
    """Of one viewer."""

    runs_dir: str = "runs"
    read_only: bool = False
    """Nothing may be launched, paused, resumed or cancelled."""
    configs_dir: str = "configs"
    """Where the launch page looks for configs."""

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return Path(self.runs_dir)


def hand_over(settings: ViewerSettings) -> None:
    """Leave the settings for the pages of this process."""
    os.environ[VARIABLE] = json.dumps(asdict(settings))


def read_settings() -> ViewerSettings:
    """Return the settings that were handed over, or the defaults."""
    text = os.environ.get(VARIABLE)
    return ViewerSettings(**json.loads(text)) if text else ViewerSettings()
