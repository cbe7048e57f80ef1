"""Studies: what to measure, in which order, until when; and doing it."""
