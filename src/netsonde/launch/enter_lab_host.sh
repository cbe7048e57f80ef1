#!/bin/sh
# What mpiexec calls instead of ssh in an emulated cluster: enter_lab_host.sh [-x] HOST COMMAND...
# runs COMMAND in the namespaces of HOST. NETSONDE_LAB_HOSTS, set in every process of the lab, holds
# NAME=PID for each host.
while [ "${1#-}" != "$1" ]; do
    shift
done
if [ $# -lt 2 ]; then
    echo "enter_lab_host.sh: expected a host and a command" >&2
    exit 2
fi
host=$1
shift
for entry in $NETSONDE_LAB_HOSTS; do
    if [ "${entry%%=*}" = "$host" ]; then
        # The words are quoted for a remote shell, as ssh would hand them to one: Hydra's are one
        # command, which takes the place of that shell; Open MPI's are a list of them.
        exec nsenter --target "${entry#*=}" --mount --uts --ipc --net -- \
            /bin/sh -c 'cd -- "$0" 2>/dev/null || cd /; case "$*" in *\;*) ;; *) set -- exec "$@" ;; esac; eval "$*"' "$PWD" "$@"
    fi
done
echo "enter_lab_host.sh: the lab has no host $host" >&2
exit 2
