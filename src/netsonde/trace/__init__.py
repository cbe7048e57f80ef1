"""What a host's system did over time: the tracer's files, tables and plots of them."""
