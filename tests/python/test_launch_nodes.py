"""Sets of hosts in ClusterShell's syntax."""

import time

import pytest
from ClusterShell.NodeUtils import GroupResolverConfig
from hypothesis import given
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.hosts import parse_endpoint, split_hosts
from netsonde.launch.nodes import HOSTS_LIMIT, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n2,n1", ["n2", "n1"]),  # the first is the origin
        ("n[2-3],n1", ["n2", "n3", "n1"]),
        ("n[001-003]", ["n001", "n002", "n003"]),
        ("n[1,3-9/3]", ["n1", "n3", "n6", "n9"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1-4]!n[2-3]", ["n1", "n4"]),
        ("n[1-4]!n2,n7", ["n1", "n3", "n4", "n7"]),
        ("n[1-4]&n[3-9]", ["n3", "n4"]),
        ("n[1-3]^n[2-4]", ["n1", "n4"]),
        ("10.0.0.[1-2]", ["10.0.0.1", "10.0.0.2"]),
        ("me@node7", ["me@node7"]),
        ("::1", ["::1"]),
        ("[::1]:5959", ["[::1]:5959"]),
        ("[fe80::1]", ["[fe80::1]"]),
    ],
)
def test_sets(text, names):
    assert expand(text) == names


def test_hosts_of_a_lab_are_sets_as_well():
    assert split_hosts("lab:h[1-3]!h2") == ["lab:h1", "lab:h3"]
    assert split_hosts("lab:other/h[1-2]") == ["lab:other/h1", "lab:other/h2"]


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """ClusterShell's own configuration, with two racks."""
    folder = tmp_path / "clustershell"
    (folder / "groups.d").mkdir(parents=True)
    (folder / "groups.conf").write_text(f"[Main]\ndefault: local\nautodir: {folder}/groups.d\n")
    (folder / "groups.d" / "local.yaml").write_text(
        "local:\n  rack1: 'n[1-3]'\n  rack2: 'n[4-6]'\n  all: '@rack1,@rack2'\n"
    )
    made = GroupResolverConfig([str(folder / "groups.conf")])
    monkeypatch.setattr("ClusterShell.NodeSet.RESOLVER_STD_GROUP", made)


@pytest.mark.usefixtures("groups")
def test_groups():
    assert expand("@rack1") == ["n1", "n2", "n3"]
    assert expand("n9,@rack2") == ["n9", "n4", "n5", "n6"]
    assert expand("@all!@rack1") == ["n4", "n5", "n6"]
    with pytest.raises(UsageError, match="group"):
        expand("@rack3")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("n[1-", "is no set of hosts"),
        ("n[2-1]", "is no set of hosts"),
        ("n[1-2]!n[1-2]", "leaves no host"),
        (f"n[1-{HOSTS_LIMIT + 1}]", "more than the limit of 100000 hosts"),
        ("n[1-999999999999999999]", "more than the limit"),
        ("a[1-1000]b[1-1000]c[1-1000]", "more than the limit"),
        ("n[1-60000],m[1-60000]", "more than the limit"),
        ("n[1-99999999]&n1", "more than the limit"),
        ("n" * (1 << 20) + "n", "over the limit of 1048576 characters"),
    ],
)
def test_what_is_no_set_is_one_short_sentence(text, sentence):
    with pytest.raises(UsageError) as caught:
        expand(text)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 400


def test_as_many_as_the_limit():
    started = time.process_time()
    names = expand(f"n[1-{HOSTS_LIMIT}]")
    assert (len(names), names[0], names[-1]) == (HOSTS_LIMIT, "n1", f"n{HOSTS_LIMIT}")
    assert time.process_time() - started < 30  # a second, where nothing is quadratic


@given(st.text("n1[]-,/!&^@: x", max_size=25))
def test_any_text_is_names_or_a_sentence(text):
    try:
        names = expand(text)
    except UsageError:
        return
    assert 0 < len(names) <= HOSTS_LIMIT
    for name in names:
        try:
            parse_endpoint(name)
        except UsageError:
            continue


@given(st.sets(st.integers(1, 300), min_size=1), st.sets(st.integers(1, 300)))
def test_sets_are_those_of_mathematics(some, others):
    def written(numbers):
        return f"n[{','.join(map(str, sorted(numbers)))}]"

    wanted = {f"n{number}" for number in some}
    assert set(expand(written(some))) == wanted
    left = wanted - {f"n{number}" for number in others}
    if others and left:
        assert set(expand(f"{written(some)}!{written(others)}")) == left
