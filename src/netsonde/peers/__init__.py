"""Other measuring tools: reading what they print, and saying what they would say of a point.

``read`` finds out whose output a text is and turns it into points; ``techniques`` and ``told`` are
for runs of netsonde that measure as another tool does.
"""
