"""What a host can do without a network: its clocks and its sleeps."""
