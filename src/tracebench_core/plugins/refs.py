"""Import what a spec names, with an error that says whose it is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tracebench_core.errors import MissingRequirementError, PluginError


def load_ref(ref: str, *, owner: str) -> Any:
    """Import `package.module:attribute`; `owner` is the id that named it.

    Raises:
        MissingRequirementError: when a module that it needs is not installed.
        PluginError: when importing fails in any other way, `sys.exit` included.
    """
    module_name, _, attribute = ref.partition(":")
    try:
        return getattr(import_module(module_name), attribute)
    except ModuleNotFoundError as err:
        if err.name and not f"{module_name}.".startswith(f"{err.name}."):
            words = f"`{owner}` needs the module `{err.name}`, which is not installed."
            raise MissingRequirementError(words, hint=f"pip install {err.name.partition('.')[0]}") from err
        raise PluginError(f"`{owner}` names `{ref}`, and there is no module `{err.name or err}`.") from err
    except AttributeError as err:
        raise PluginError(f"`{owner}` names `{ref}`: {err}.") from err
    except (Exception, SystemExit) as err:
        raise PluginError(f"`{owner}`: importing `{ref}` failed: {type(err).__name__}: {err}") from err
