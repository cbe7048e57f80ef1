"""MPIBench (D. Grove 2003; N. A. W. Abdul Hamid 2008) on netsonde's engine: its routines, its ways
of summing up, its files.

The sources of every rule are the descriptions in those theses; docs/reference/mpibench.md says
where they leave something open, and what is done then.
"""
