"""Emulated clusters: hosts in network namespaces, joined by a bridge with shaped links.

Nothing is pinned in a file: a lab is a tree of processes in a pid namespace of its own, and the
kernel removes its namespaces, links and mounts when they end.
"""
