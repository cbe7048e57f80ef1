"""ReFrame tests that measure the network with netsonde and hold its figures to references.

    reframe -c netsonde_check.py -r
    reframe -c netsonde_check.py -r -S other=node2

What netsonde itself finds wrong (a finding of level ``bad``) fails the sanity check.
"""

import json

import reframe as rfm
import reframe.utility.sanity as sn


class NetsondeTest(rfm.RunOnlyRegressionTest):
    """One test of netsonde between this node and another."""

    other = variable(str, value="local")
    at_most = variable(str, value="2s")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "netsonde"
    num_tasks = 1

    @run_before("run")
    def set_options(self):
        words = [self.transport, self.other, self.test]
        self.executable_opts = [*words, "--time", self.at_most, "--json", "--out", "runs"]

    @sn.deferrable
    def document(self):
        with open(str(self.stdout)) as file:
            return json.load(file)

    @sn.deferrable
    def figure(self, name):
        found = [f["value"] for f in self.document().evaluate()["figures"] if f["name"] == name]
        if not found:
            raise ValueError(f"netsonde gave no {name}")
        return found[0]

    @sanity_function
    def nothing_is_bad(self):
        findings = self.document().evaluate()["findings"]
        bad = [f["claim"] for f in findings if f["level"] == "bad"]
        return sn.assert_true(not bad, "; ".join(bad))


@rfm.simple_test
class NetsondeLatency(NetsondeTest):
    """Round trips of 64 bytes."""

    transport = parameter(["tcp", "udp"])
    test = "latency"

    @performance_function("us")
    def round_trip_median(self):
        return self.figure("round_trip_median_ns") / 1000

    @performance_function("us")
    def round_trip_p99(self):
        return self.figure("round_trip_p99_ns") / 1000


@rfm.simple_test
class NetsondeStream(NetsondeTest):
    """Throughput of one TCP connection."""

    transport = "tcp"
    test = "stream"

    @performance_function("Gbit/s")
    def throughput(self):
        return self.figure("throughput_bit_per_s") / 1e9
