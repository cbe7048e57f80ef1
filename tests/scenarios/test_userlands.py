"""Who has an older or newer Debian, a wheel and no compiler installs it and measures over ssh, each
end in a root folder of its own release. How long that takes is said, and decides nothing."""

from __future__ import annotations

import ast
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wheel_made import MACHINE, build

# Far ends have a server alone: a cluster's old node needs no Python.
PACKAGES = {
    "bullseye": ("openssh-server",),
    "bookworm": ("openssh-server", "openssh-client", "python3", "python3-venv"),
    "trixie": ("openssh-client", "python3", "python3-venv"),
}
COMPILER = re.compile(r"(.*-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|tcc|icx)(-[\d.]+)?")
MOST_S = 300.0
"""A hung mirror or host is noticed; a slow one is not the product's."""
HOME = pwd.getpwuid(0).pw_dir
COMMANDS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": HOME}
# All mounts are in a namespace of their own: they end with it, however the test ends.
ENTER = """
root=$1; shift
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/sshd"
exec chroot "$root" "$@"
"""

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="a root folder is made and entered by root only"),
]


def inside(root: Path, *words: str) -> list[str]:
    """The command that runs words in a root folder. It ends what it started when it is killed."""
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*own, "sh", "-ec", ENTER, "sh", str(root), *words]


def run(root: Path, *words: str, **settings: str) -> str:
    """What a command in a root folder writes. It sees nothing of this machine's environment."""
    done = subprocess.run(
        inside(root, *words),
        env=COMMANDS | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


def mirror() -> str:
    """Where this machine's own packages come from, where that is Debian's main archive."""
    form = "$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no apt that knows a mirror")
    for line in lines.splitlines():
        if line.startswith("Debian Debian main "):
            return line.split()[-1]
    pytest.skip("apt knows no mirror of Debian, or has read none of its lists")


def need_release(uri: str, release: str, folder: Path) -> None:
    """Leaves the test out where the mirror has no such release (any more). Asked through apt, which
    knows of its proxies."""
    wanted = f"{uri.rstrip('/')}/dists/{release}/InRelease"
    command = ["/usr/lib/apt/apt-helper", "download-file", wanted, str(folder / release)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"apt's mirror does not have {release}: {done.stderr.strip()[-200:]}")


def make_root(release: str, folder: Path) -> Path:
    """The least of a release that runs."""
    if shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap is not installed")
    uri = mirror()
    need_release(uri, release, folder)
    root = folder / "root"
    chosen = f"--include={','.join(PACKAGES[release])}"
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", chosen]
    done = subprocess.run(
        [*command, release, str(root), uri], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.copy("/etc/resolv.conf", root / "etc")
    return root


@pytest.fixture(scope="module")
def root_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """A function from a release to its root folder, made once."""
    made: dict[str, Path] = {}
    folders: list[Path] = []

    def make(release: str) -> Path:
        if release not in made:
            folders.append(tmp_path_factory.mktemp(release))
            made[release] = make_root(release, folders[-1])
        return made[release]

    try:
        yield make
    finally:
        for folder in folders:  # hundreds of megabytes each
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = build(MACHINE, tmp_path_factory.mktemp("dist"))
    return made


def pip_settings() -> dict[str, str]:
    """How pip reaches its packages on this machine, as an environment; its variables win over its
    files."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    settings = {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
    for line in sorted(lines, key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2].upper().replace("-", "_")
        settings[f"PIP_{option}"] = ast.literal_eval(value)
    return settings


def bring_files(settings: dict[str, str], root: Path) -> None:
    """The files that settings name, such as certificates, to the same place in a root folder."""
    for value in settings.values():
        if value.startswith("/") and Path(value).is_file():
            there = root / value.lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(value, there)


def compilers(root: Path) -> list[str]:
    folders = [root / "usr/bin", root / "usr/local/bin", root / "usr/sbin"]
    names = [path.name for folder in folders for path in folder.iterdir()]
    return [name for name in names if COMPILER.fullmatch(name)]


def install(wheel: Path, root: Path) -> float:
    """Installs a wheel as its users do; the seconds it took."""
    settings = pip_settings()
    bring_files(settings, root)
    shutil.copy(wheel, root / "root")
    begin = time.monotonic()
    run(root, "python3", "-m", "venv", "/opt/netsonde")
    run(root, "/opt/netsonde/bin/pip", "install", f"{HOME}/{wheel.name}", **settings)
    return time.monotonic() - begin


def let_in(near: Path, far: Path, port: int) -> None:
    """Makes a key, with which near's root gets into far by the name ``far``."""
    for root in (near, far):
        (root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
    run(near, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{HOME}/.ssh/id_ed25519")
    shutil.copy(near / "root/.ssh/id_ed25519.pub", far / "root/.ssh/authorized_keys")
    key = (far / "etc/ssh/ssh_host_ed25519_key.pub").read_text()
    (near / "root/.ssh/known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
    (near / "root/.ssh/config").write_text(f"Host far\n  HostName 127.0.0.1\n  Port {port}\n")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def server(root: Path, port: int) -> Iterator[None]:
    """An ssh server of a root folder, which ends with all that it started."""
    options = ["-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none", "-o", "UsePAM=no"]
    where = ["-p", str(port), "-E", f"{HOME}/log"]
    command = inside(root, "/usr/sbin/sshd", "-D", *where, *options)
    with subprocess.Popen(command, env=COMMANDS, stdin=subprocess.DEVNULL) as process:
        try:
            wait_for(port, process)
            yield
        finally:
            process.kill()  # unshare leaves a gentler signal to what it started


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, "sshd has ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("sshd does not listen")


def answer(near: Path) -> tuple[float, float]:
    """The median of round trips to the far end in ns, and how many seconds its user waited."""
    asked = ["tcp", "far", "latency", "--json"]
    begin = time.monotonic()
    written = run(near, "/opt/netsonde/bin/netsonde", *asked)
    took = time.monotonic() - begin
    figures = json.loads(written)["figures"]
    [median] = [one["value"] for one in figures if one["name"] == "round_trip_median_ns"]
    return median, took


@pytest.mark.parametrize(("near", "far"), [("bookworm", "bullseye"), ("trixie", "bookworm")])
def test_a_wheel_alone_measures(
    near: str,
    far: str,
    wheel: Path,
    root_of: Callable[[str], Path],
    record_property: Callable[[str, object], None],
) -> None:
    here, there = root_of(near), root_of(far)
    if "python3" not in PACKAGES[far]:
        assert not [*there.glob("usr/bin/python*")]
    installing = install(wheel, here)
    assert compilers(Path("/"))  # that made the wheel
    assert compilers(here) == compilers(there) == []
    port = free_port()
    let_in(here, there, port)
    with server(there, port):
        times = [answer(here) for _ in range(2)]
    took = {"install_s": installing, "first_answer_s": times[0][1], "answer_s": times[1][1]}
    for name, seconds in took.items():
        print(f"{near} to {far}: {name} {seconds:.1f}")
        record_property(name, round(seconds, 2))
    assert all(1e3 < median < 1e8 for median, _ in times)
