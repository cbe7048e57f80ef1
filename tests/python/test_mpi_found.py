"""Which MPI a name or a path stands for, and the sentences where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_fakes import launcher, program, wrapper

from netsonde.cli.mpi_many import ALL_TESTS, mpi_listing, with_all
from netsonde.errors import HostError, UsageError
from netsonde.launch.mpi_found import find_mpi, found_mpis
from netsonde.operations import operations


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any MPI; ``scripts`` is that of its Python, ``usr`` is Debian's."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts" / "bin"))
    debian = {f"{name}-debian": str(tmp_path / f"usr/mpiexec.{name}") for name in
              ("mpich", "openmpi")}  # fmt: skip
    monkeypatch.setattr("netsonde.launch.mpi_found._DEBIAN", debian)
    return tmp_path


@pytest.mark.parametrize(
    ("saying", "family", "title"),
    [
        ("mpich", "mpich", "MPICH 4.2.1"),
        ("openmpi", "openmpi", "Open MPI 4.1.4"),
        ("orte", "openmpi", "Open MPI 4.1.4"),
        ("intel", "intel", "Intel MPI 2021.18"),
    ],
)
def test_an_mpiexec_says_its_family_and_version(
    tmp_path: Path, saying: str, family: str, title: str
) -> None:
    found = find_mpi(str(launcher(tmp_path / "mpiexec", saying)))
    assert (found.family, found.title) == (family, title)
    assert found.wrapper is None
    assert found.abi_folder is None


def test_a_path_may_be_the_mpiexec_the_wrapper_or_the_folder(tmp_path: Path) -> None:
    mpiexec = launcher(tmp_path / "bin" / "mpiexec", "openmpi")
    mpicc = wrapper(tmp_path / "bin" / "mpicc")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpi_abi.so.1").touch()
    for path in (mpiexec, mpicc, tmp_path):
        found = find_mpi(str(path))
        assert found.name == str(path)
        assert (found.mpiexec, found.wrapper) == (mpiexec, mpicc)
        assert found.abi_folder == tmp_path / "lib"


def test_endings_belong_together(tmp_path: Path) -> None:
    for saying in ("mpich", "openmpi"):
        launcher(tmp_path / f"mpiexec.{saying}", saying)
        wrapper(tmp_path / f"mpicc.{saying}")
    launcher(tmp_path / "mpiexec", "mpich")
    for saying in ("mpich", "openmpi"):
        found = find_mpi(f"{tmp_path}/mpicc.{saying}")
        assert (found.family, found.mpiexec.name) == (saying, f"mpiexec.{saying}")
        assert find_mpi(f"{tmp_path}/mpiexec.{saying}").wrapper == found.wrapper
    assert find_mpi(f"{tmp_path}/mpiexec").wrapper is None  # mpicc.mpich may be of another


def test_names_take_the_python_environment_then_path_then_debian(bare: Path) -> None:
    def home(name: str) -> str:
        return str(find_mpi(name).mpiexec.relative_to(bare))

    launcher(bare / "usr" / "mpiexec.mpich", "mpich")
    launcher(bare / "usr" / "mpiexec.openmpi", "openmpi")
    assert home("mpich") == home("mpich-debian") == "usr/mpiexec.mpich"
    launcher(bare / "path" / "mpiexec", "mpich")
    assert home("mpich") == "path/mpiexec"
    launcher(bare / "scripts" / "bin" / "mpiexec", "intel")
    assert home("mpich") == "path/mpiexec"
    assert home("impi") == "scripts/bin/mpiexec"
    assert home("openmpi") == "usr/mpiexec.openmpi"
    assert [mpi.name for mpi in found_mpis()] == ["mpich", "openmpi", "impi", "mpich-debian"]


def test_debians_alternatives_are_known_by_their_own_name(bare: Path) -> None:
    launcher(bare / "usr" / "mpiexec.openmpi", "openmpi")
    wrapper(bare / "usr" / "mpicc.openmpi")
    wrapper(bare / "usr" / "mpicc")  # may lead to another MPI
    (bare / "usr" / "mpiexec").symlink_to(bare / "usr" / "mpiexec.openmpi")
    (bare / "path").symlink_to(bare / "usr")
    found = find_mpi("openmpi")
    assert found.wrapper is not None
    assert found.wrapper.name == "mpicc.openmpi"


def test_what_is_not_there_is_said(bare: Path) -> None:
    def said(name: str) -> str:
        with pytest.raises(HostError) as caught:
            find_mpi(name)
        return str(caught.value)

    assert "no MPI is installed: mpiexec is neither in" in said("mpich")
    assert "no Open MPI is installed" in said("openmpi")
    assert "which Debian's package for 'mpich-debian' brings" in said("mpich-debian")
    mpiexec = launcher(bare / "path" / "mpiexec", "openmpi")
    assert f"no MPICH is found for 'mpich'; there is Open MPI 4.1.4 ({mpiexec})" in said("mpich")
    assert "there is no executable" in said(f"{bare}/nothing")
    assert "there is no mpiexec in" in said(f"{bare}/path/..")
    assert "there is no mpiexec.x beside" in said(str(wrapper(bare / "path" / "mpicc.x")))
    other = program(bare / "path" / "srun", "echo slurm 22.05")
    assert "does not say that it is the mpiexec of" in said(str(other))
    with pytest.raises(UsageError, match="MPI 'mvapich' is unknown; say mpich, openmpi, impi"):
        find_mpi("mvapich")


def test_a_launcher_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netsonde.launch.mpi_found._VERSION_TIMEOUT_S", 0.2)
    with pytest.raises(HostError, match="--version gives no answer"):
        find_mpi(str(program(tmp_path / "mpiexec", "exec sleep 1000")))


def test_what_is_here_is_listed(bare: Path) -> None:
    assert "No MPI is found here" in mpi_listing()
    launcher(bare / "usr" / "mpiexec.mpich", "mpich")
    launcher(bare / "path" / "mpiexec", "openmpi")
    wrapper(bare / "usr" / "mpicc.mpich")
    text = mpi_listing()
    assert "mpich           MPICH 4.2.1" in text
    assert f"built on first use, by {bare}/usr/mpicc.mpich" in text
    assert "cannot be measured: no mpicc beside its mpiexec" in text


def test_all_is_a_set_of_tests() -> None:
    assert with_all(["all", "scan"]) == [*ALL_TESTS, "scan"]
    assert all(name in operations() for name in ALL_TESTS[4:])
    with pytest.raises(UsageError, match="bcast is one of all"):
        with_all(["bcast", "all"])
