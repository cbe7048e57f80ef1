#!/bin/bash
# Measures the network between the nodes of an allocation of PBS, OpenPBS or Torque.
#
#   qsub -v STUDY=STUDY.toml pbs.sh     a new run
#   qsub -v STUDY=RUN-DIRECTORY pbs.sh  goes on with a run, for which the job needs the same nodes
#
# The first node is the study's origin, the last one its target. They let you in by ssh.
#PBS -N netsonde
#PBS -l select=2:ncpus=2
#PBS -l place=scatter:excl
#PBS -l walltime=00:30:00
#PBS -j oe

set -euo pipefail
what=${STUDY:?give a study, or the directory of a run that is to go on, with -v STUDY=...}
nodes=${PBS_NODEFILE:?start this with qsub}
cd "${PBS_O_WORKDIR:-.}"

if [[ -d $what ]]; then
    exec netsonde study resume "$what"
fi
# The file names a node once for each of its slots.
hosts=$(awk '!seen[$0]++' "$nodes" | paste -sd, -)
exec netsonde study run "$what" --hosts "$hosts" --out "${NETSONDE_RUNS:-runs}"
