"""Plain data over a pipe between processes that do not trust each other. Imports the standard library only."""

from tracebench_sandbox.codec import CodecError as CodecError, Decoder as Decoder, Encoder as Encoder
from tracebench_sandbox.frames import read_frame as read_frame, write_frame as write_frame
