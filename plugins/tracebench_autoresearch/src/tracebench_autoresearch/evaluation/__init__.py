"""One experiment in the sandbox: its commands, its metrics, its outcome."""
