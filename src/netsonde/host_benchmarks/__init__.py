"""Micro-benchmarks of a host without a network: clocks, sleeps, work and copies."""
