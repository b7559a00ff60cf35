"""The bridge to opto: importing it quietly, giving it a model, building its graphs, and guarding what it gives back."""
