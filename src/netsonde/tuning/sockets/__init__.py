"""The settings of sockets and hosts under which TCP between two hosts is fastest.

A search over buffers, congestion control, MTU, offloads and busy polling, in the order of what
``explain`` names. How a step is judged: docs/methods/tune-sockets.md.
"""
