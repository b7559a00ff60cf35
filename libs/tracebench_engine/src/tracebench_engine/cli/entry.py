"""Where the command begins: until its imports are done, Ctrl-C ends it with a line that says that nothing was begun.

Nothing that the interpreter has not loaded already is imported before that is so: `signal` alone would take longer than all the rest.
What comes before this module is not ours to catch: an interrupt while Python itself starts ends in Python's words.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` is made of, loaded already
import os

INTERRUPTED = 130


def _leave(_number: int, _frame: object) -> None:
    """End at once, whatever is being imported."""
    os.write(2, b"interrupted: nothing was begun\n")
    os._exit(INTERRUPTED)


IS_HEARD = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if IS_HEARD:
    _signal.signal(_signal.SIGINT, _leave)


def program() -> None:
    """Import the command line, which takes a while, and run it."""
    from tracebench_engine.cli.app import program as command

    command(hand_over)


def hand_over() -> None:
    """Leave it to the command what an interrupt means."""
    if IS_HEARD:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
