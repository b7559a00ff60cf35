"""The core's own suites, trainers, executor, loggers and reporters, registered through the same hooks as anyone's."""
