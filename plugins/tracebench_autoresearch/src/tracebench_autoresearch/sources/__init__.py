"""Where an experiment's files come from: a git revision, a folder, a prepared cache."""
