"""`netsonde serve`: being the other end for somebody who was given the pairing code.

Only this part of netsonde listens for strangers. Everything that arrives is bounded in size and
time, checked here in Python, and allowed by policy before a worker without privileges sees it.
"""
