"""What the search trainers share: the archive they read, what they select by, and how they spend a step."""
