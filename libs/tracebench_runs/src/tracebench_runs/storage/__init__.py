"""How files of a run are written and read: durable, regular, private, sealed, each at its place in the layout."""
