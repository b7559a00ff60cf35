"""A candidate seen as files: the mapping of a parameter of kind `files`, or each text and each code as a file of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_core.errors import NotApplicableError
from tracebench_core.specs import Parameter, Values


class Workspace:
    """Translates between values and files."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        """Look at the parameters.

        Raises:
            NotApplicableError: when there is one that is no file, or several trees of files.
        """
        kinds = [p.kind for p in parameters]
        self._tree = parameters[0].name if kinds == ["files"] else None
        if self._tree is None and (other := [p for p in parameters if p.kind not in {"text", "code"}]):
            raise NotApplicableError(
                f"`Autoresearch` edits files: one parameter of kind `files`, or texts and code; `{other[0].name}` is of kind "
                f"`{other[0].kind}`."
            )

    def files(self, values: Values) -> dict[str, str]:
        """Return a candidate's files."""
        source = values[self._tree] if self._tree is not None else values
        return {path: str(text) for path, text in source.items()} if isinstance(source, dict) else {}

    def values(self, files: Mapping[str, str], base: Values) -> Values:
        """Return the candidate whose files these are.

        Raises:
            UnusableEdit: when a file is no parameter.
        """
        if self._tree is not None:
            return {self._tree: dict(files)}
        if set(files) != set(base):
            odd = sorted(set(files) ^ set(base))[0]
            raise UnusableEdit(f"the files are {', '.join(f'`{n}`' for n in base)}, and stay so: not `{odd}`")
        return dict(files)
