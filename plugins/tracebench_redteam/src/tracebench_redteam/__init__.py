"""Tasks whose score is what a participant of a run gained unearned, with the attacks that are known as their cases of known outcome."""
