"""Which algorithm an MPI is to take for each operation: measured, proven, written for libraries."""
