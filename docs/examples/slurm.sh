#!/bin/bash
# Measures the network between the nodes of a Slurm allocation.
#
#   sbatch slurm.sh STUDY.toml     a new run
#   sbatch slurm.sh RUN-DIRECTORY  goes on with a run, for which the job needs the same nodes
#
# The first node is the study's origin, the last one its target. netsonde reaches them by srun.
#SBATCH --job-name=netsonde
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --signal=B:TERM@60
#SBATCH --output=netsonde-%j.log

set -euo pipefail
what=${1:?give a study, or the directory of a run that is to go on}
nodes=${SLURM_JOB_NODELIST:?start this with sbatch}

if [[ -d $what ]]; then
    exec netsonde study resume "$what"
fi
hosts=$(scontrol show hostnames "$nodes" | paste -sd, -)
exec netsonde study run "$what" --hosts "$hosts" --out "${NETSONDE_RUNS:-runs}"
