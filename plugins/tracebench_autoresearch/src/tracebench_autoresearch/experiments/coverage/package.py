"""What can be called of the package: its public functions, and the methods of its classes. Recording and replay both read it from here."""

import importlib
import inspect
from pathlib import Path

NAME = "shop"


def modules():
    for path in sorted(Path(NAME).glob("*.py")):
        if path.stem != "__init__":
            yield path.stem, importlib.import_module(f"{NAME}.{path.stem}")


def functions():
    """Yield each as `(full name, owner, attribute, function)`; a method's owner is its class."""
    for stem, module in modules():
        for name, thing in list(vars(module).items()):
            if getattr(thing, "__module__", "") != module.__name__:
                continue
            if inspect.isfunction(thing):
                yield f"{stem}.{name}", module, name, thing
            elif inspect.isclass(thing):
                for method, function in list(vars(thing).items()):
                    if inspect.isfunction(function):
                        yield f"{stem}.{name}.{method}", thing, method, function
