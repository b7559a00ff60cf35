"""Terminus-2 with its prompt read from a given file."""

from __future__ import annotations

from pathlib import Path

from harbor.agents.terminus_2.terminus_2 import Terminus2, Terminus2Options
from pydantic import Field


class TemplateTerminus2Options(Terminus2Options):
    """Terminus-2's options and one more: unknown options are refused, so it must be declared."""

    prompt_template_path: Path | None = Field(default=None, description="File of the prompt, for `str.format`.")


class TemplateTerminus2(Terminus2):
    """Terminus-2 whose prompt is `prompt_template_path`."""

    options_model = TemplateTerminus2Options
    options: TemplateTerminus2Options

    def _get_prompt_template_path(self) -> Path:
        return self.options.prompt_template_path or super()._get_prompt_template_path()
