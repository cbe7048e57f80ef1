"""Where each tool's figures are explained."""

METHODS = {
    "iperf3": "other-tools#iperf3",
    "netperf": "other-tools#netperf",
    "sockperf": "other-tools#sockperf",
    "netpipe": "other-tools#netpipe",
    "osu": "other-tools#osu-micro-benchmarks",
    "imb": "other-tools#intel-mpi-benchmarks",
    "pmb": "other-tools#pallas-mpi-benchmarks",
    "skampi": "other-tools#skampi",
    "mpptest": "other-tools#mpptest",
    "mpbench": "other-tools#mpbench",
    "reprompi": "other-tools#reprompi",
    "mpibench": "other-tools#mpibench",
}
