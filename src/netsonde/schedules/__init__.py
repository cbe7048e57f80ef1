"""Algorithms as schedules: what is asked of sonde-sim, and its answers as tables."""
