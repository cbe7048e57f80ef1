"""netsonde beside other tools: ``python -m bench``.

The same path, the same settings, in alternation; every single run is kept. docs/methods/bench.md
says what is compared with what.
"""
