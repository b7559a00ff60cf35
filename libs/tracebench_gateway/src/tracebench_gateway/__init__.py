"""The one door to language models: a metering gateway in its own process, and the client that jobs use."""
