"""Plain data over a pipe between processes that do not trust each other. Imports the standard library only."""

from tracebench_sandbox.codec import CodecError, Decoder, Encoder
from tracebench_sandbox.frames import read_frame, write_frame

__all__ = ["CodecError", "Decoder", "Encoder", "read_frame", "write_frame"]
