"""A library's own settings, by its own names, laid over those that the bench passes: checked against its signatures and dataclasses."""

import dataclasses
import difflib
import inspect
import typing


class WrongKnob(Exception):  # noqa: N818 - named for what is wrong
    """A setting that the library does not know, or that the bench holds; raised before anything is spent."""


def call(function, passed, given, *, held=()):
    """Return `function(**passed)` with `given` laid over; `held` names what is the bench's besides objects in `passed`."""
    return function(**arguments(function, passed, given, held=held))


def arguments(function, passed, given, *, held=()):
    """Return `passed` with `given` laid over, if the function takes it all."""
    refuse_unknown(given, names_of(function), held=held, of=getattr(function, "__name__", str(function)))
    return {**passed, **given}


def parted(given, *functions, held=()):
    """Return `given` as one mapping for each function, every name with the first that takes it."""
    known = [names_of(function) for function in functions]
    refuse_unknown(given, [n for names in known for n in names], held=held, of=functions[0].__name__)
    parts = [{} for _ in functions]
    for name, value in given.items():
        next(part for part, names in zip(parts, known) if name in names)[name] = value
    return parts


def lay(config, given, *, held=(), path=""):
    """Lay nested mappings over a dataclass and those in it; `held` are dotted names. A part that is None is made when it is given."""
    fields = {field.name: field for field in dataclasses.fields(config)}
    within = {name.removeprefix(path) for name in held if name.startswith(path)}
    refuse_unknown(given, fields, held=within, of=type(config).__name__)
    for name, value in given.items():
        part = getattr(config, name)
        if part is None and isinstance(value, dict):
            part = made(type(config), name)
        if dataclasses.is_dataclass(part) and isinstance(value, dict):
            lay(part, value, held=held, path=f"{path}{name}.")
            setattr(config, name, part)
        else:
            setattr(config, name, value)
    return config


def made(kind, name):
    """Return a new part of a dataclass by its annotation, such as `Part | None`; None where that names no dataclass."""
    try:
        named_kinds = typing.get_args(typing.get_type_hints(kind)[name])
    except NameError:  # an annotation of theirs may name what is imported for type checkers alone
        return None
    return next((each() for each in named_kinds if dataclasses.is_dataclass(each)), None)


def named(name, known, *, what):
    """Return `known[name]`; letters count alike.

    Raises:
        WrongKnob: when there is none, with the nearest.
    """
    by_letters = {key.lower(): key for key in known}
    if name.lower() not in by_letters:
        raise WrongKnob(f"`{name}` is no {what}.{nearest(name, known)}")
    return known[by_letters[name.lower()]]


def refuse_unknown(given, known, *, held, of):
    """Raise WrongKnob for a name that is not known, and for one that is the bench's."""
    for name in given:
        if name in held:
            raise WrongKnob(f"`library.{name}` is the bench's own and cannot be set.")
        if name not in known:
            raise WrongKnob(
                f"`library.{name}` is nothing that `{of}` knows.{nearest(name, [n for n in known if n not in held])}"
            )


def names_of(function):
    """Return the names of a function's, or of a class's, arguments."""
    return [name for name in inspect.signature(function).parameters if name != "self" and not name.startswith("_")]


def nearest(name, known):
    """Return a sentence with the names that are most like one, or with all if they are few."""
    lower = {each.lower(): each for each in known}
    close = [lower[each] for each in difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)]
    few = sorted(known) if len(list(known)) <= 8 else []  # noqa: PLR2004 - as many as a sentence bears
    told = close or few
    return f" Did you mean {', '.join(f'`{one}`' for one in told)}?" if told else ""
