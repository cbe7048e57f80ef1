"""The programs of Hpcbench (B. Huang 2004) on netsonde's engine: their letters, files and logs.

The sources of every name and default are the descriptions in that thesis, appendix A and section
3.6; docs/reference/hpcbench.md says where this differs, and why.
"""
