"""Real ssh servers in a lab's hosts, with a throw-away key, for ssh, mpiexec and the like."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from netsonde.errors import HostError
from netsonde.lab.cluster import Lab
from netsonde.limits import limit_s

COMMAND_TIMEOUT_S = limit_s("lab-ssh")
SYSTEM_PATH = ":/usr/sbin:/sbin:/usr/bin:/bin"


def start_ssh_servers(lab: Lab, folder: Path) -> Path:
    """Starts one in each host; the client configuration for ``ssh -F``.

    It holds inside the hosts, where the names are addresses, and outside, where a proxy enters the
    host. folder gets keys and configurations and must be open to this user only; the servers end
    with the lab. Raises HostError.
    """
    config = folder / "config"
    if config.exists():
        return config
    if lab.made["rootless"] or os.geteuid() != 0:
        raise HostError("an ssh server lets users in as root only; bring the lab up as root")
    server, keygen = _tool("sshd", "openssh-server"), _tool("ssh-keygen", "openssh-client")
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in ("id", "host_key"):
        _run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)])
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/id.pub\n"
        "StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "UsePAM no\nUseDNS no\nPermitRootLogin prohibit-password\nPidFile none\n"
        f"Subsystem sftp internal-sftp\n"
    )
    key = (folder / "host_key.pub").read_text().strip()
    names = [",".join([host.name, *host.addresses.values()]) for host in lab.hosts]
    (folder / "known_hosts").write_text("".join(f"{name} {key}\n" for name in names))
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists on it
    for host in lab.hosts:
        _run(host.command([server, "-f", str(folder / "sshd_config")]))
    config.write_text(_client_config(lab, folder, server))
    return config


def _client_config(lab: Lab, folder: Path, server: str) -> str:
    hosts = ",".join(lab.spec.host_names)
    enter = f"{sys.executable} -m netsonde lab exec --name {lab.spec.name} %h --"
    return (
        f"Match host {hosts}\n"
        f"  User root\n"
        f"  IdentityFile {folder}/id\n"
        "  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n"
        "  StrictHostKeyChecking yes\n"
        "  BatchMode yes\n"
        # A host of the lab has this device; outside there is no way to it but through its holder.
        f'Match host {hosts} exec "test ! -e /sys/class/net/v0"\n'
        f"  ProxyCommand {enter} {server} -i -f {folder}/sshd_config\n"
    )


def remove_ssh_files(folder: Path) -> None:
    """What start_ssh_servers left in files; nothing where there is none."""
    shutil.rmtree(folder, ignore_errors=True)


def _tool(name: str, package: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + SYSTEM_PATH)
    if found is None:
        raise HostError(f"this needs the command {name}; install the package {package}")
    return found


def _run(argv: list[str]) -> None:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise HostError(f"{Path(argv[0]).name} did not end in {COMMAND_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise HostError(f"an ssh server could not be started: {done.stderr.strip()[:300]}")
