"""Clusters that are not there: scenarios for sonde-sim, runs, and studies of published clusters."""
