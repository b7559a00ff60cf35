"""What a run is made of: its manifest, its environment, its salts."""
