"""What measurements say: of an edit, of a run, of the machine; whatever the noise."""
