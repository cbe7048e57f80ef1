"""Who sends to whom, and how the command line says it."""

import pytest

from netsonde.cli.socket_tests import SOCKET_TESTS, hosts_and_tests
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.patterns import FLOWS_LIMIT, PATTERNS, flows_of


@pytest.mark.parametrize(
    ("pattern", "hosts", "flows"),
    [
        ("incast", 4, [(0, 3), (1, 3), (2, 3)]),
        ("converge", 4, [(0, 3), (1, 3), (2, 3)]),
        ("victim", 4, [(0, 3), (1, 3), (2, 3)]),
        ("outcast", 3, [(2, 0), (2, 1)]),
        ("pairs", 4, [(0, 1), (2, 3)]),
        ("ring", 3, [(0, 1), (1, 2), (2, 0)]),
        ("alltoall", 3, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]),
    ],
)
def test_flows(pattern, hosts, flows):
    assert flows_of(pattern, hosts) == flows


@pytest.mark.parametrize(
    ("pattern", "hosts", "sentence"),
    [
        ("incast", 1, "incast needs at least 2 hosts, and 1 are given"),
        ("victim", 2, "victim needs at least 3"),
        ("pairs", 3, "even number"),
        ("alltoall", 24, f"552 flows; the limit is {FLOWS_LIMIT}"),
    ],
)
def test_hosts_that_do_not_fit(pattern, hosts, sentence):
    with pytest.raises(UsageError, match=sentence):
        flows_of(pattern, hosts)


def test_every_pattern_is_a_test_of_the_command_line():
    assert SOCKET_TESTS.keys() >= set(PATTERNS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ["a", "b"]),
        ("node[1-3]", ["node1", "node2", "node3"]),
        ("lab:h1,h2", ["lab:h1", "lab:h2"]),
        ("lab:h[1-2]", ["lab:h1", "lab:h2"]),
        ("lab:two/h[1-2],h4", ["lab:two/h1", "lab:two/h2", "lab:two/h4"]),
        ("b,node[2-3],a", ["b", "node2", "node3", "a"]),
        ("local", ["local"]),
    ],
)
def test_sets_of_hosts(text, names):
    assert split_hosts(text) == names


def test_sets_that_are_none():
    with pytest.raises(UsageError, match="is no set of hosts"):
        split_hosts("node[1-")


def test_hosts_before_the_test():
    assert hosts_and_tests("a,b", "c", "incast") == (["a", "b", "c"], [SOCKET_TESTS["incast"]])
    assert hosts_and_tests("n[1-2]", "ring", None) == (["n1", "n2"], [SOCKET_TESTS["ring"]])
    assert hosts_and_tests("lab:h1,h2", "Latency", None) == (
        ["lab:h1,h2"],
        [SOCKET_TESTS["latency"]],
    )
    with pytest.raises(UsageError, match="'teleport' is none of"):
        hosts_and_tests("a", "teleport", None)
    with pytest.raises(UsageError, match="latency has one other end"):
        hosts_and_tests("a", "b", "latency")


def test_several_tests_of_one_path():
    found = ["latency", "stream"]
    assert hosts_and_tests("n1", "latency,Stream,latency", None) == (
        ["n1"],
        [SOCKET_TESTS[name] for name in found],
    )
    with pytest.raises(UsageError, match="are of many hosts; they go in a call of their own"):
        hosts_and_tests("n1", "latency,incast", None)
