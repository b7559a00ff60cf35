"""Commands that run a config, or say what that would mean."""
