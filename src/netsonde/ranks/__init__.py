"""What the records of an MPI program's ranks hold: the ranks on one clock, the time of every rank
in every repetition, the time of each repetition, and what was joined of them at the ranks.
"""
