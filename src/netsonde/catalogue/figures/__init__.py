"""The rows of all figures, by subject."""
