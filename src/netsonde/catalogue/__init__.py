"""What netsonde knows, as rows: pure data with types, at the bottom of the house."""
