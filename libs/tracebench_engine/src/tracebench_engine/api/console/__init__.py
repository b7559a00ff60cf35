"""What a plugin's own command is written with: its options, the runs and jobs it is told, and how it prints."""
