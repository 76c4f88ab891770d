"""A real Slurm, for as long as a test needs it: Debian's packages, no database.

Its nodes are on this machine: a slurmd with a name of its own for each, as for tests of Slurm itself.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.sockets import reserved_port
from tests.waiting import HANGS, wait_until

NODES = ("one", "two")
_NAMES = ",".join(NODES)
# Devices that every machine has, in the place of GPUs: Slurm only hands them out.
_FAKE_GPUS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
_NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4000 "
    "Gres=gpu:fake:4 State=UNKNOWN"
)
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
EpilogMsgTime=0
KillWait=1
MpiDefault=none
GresTypes=gpu
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
{nodes}
PartitionName=labs Nodes={names} Default=YES MaxTime=00:30:00 DefMemPerNode=1 State=UP
"""


@contextmanager
def slurm(folder: Path) -> Iterator[Path]:
    """A running cluster; its configuration, for SLURM_CONF."""
    folder.chmod(0o755)
    for name in ("state", *(f"spool.{node}" for node in NODES)):
        (folder / name).mkdir()
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in ("controller", *NODES)]
        configuration = _configured(folder, ports)
        environment = {**os.environ, "SLURM_CONF": str(configuration)}
        munge = [
            "munged",
            "--foreground",
            "--force",
            f"--key-file={folder}/munge.key",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munged.seed",
        ]
        stack.enter_context(_running(munge, environment))
        wait_until((folder / "munge.socket").exists)
        for command in (["slurmctld", "-D", "-i"], *(["slurmd", "-D", "-N", n] for n in NODES)):
            stack.enter_context(_running(command, environment))
        try:
            _wait_until_idle(folder, environment)
            yield configuration
        finally:
            subprocess.run(["scancel", "--me"], env=environment, check=False, capture_output=True)


def _configured(folder: Path, ports: Sequence[int]) -> Path:
    """The files of a cluster in *folder*."""
    host = socket.gethostname().partition(".")[0]
    nodes = [_NODE.format(name=node, host=host, port=port) for node, port in zip(NODES, ports[1:], strict=True)]
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(host=host, folder=folder, port=ports[0], nodes="\n".join(nodes), names=_NAMES)
    )
    gpus = (f"NodeName={_NAMES} Name=gpu Type=fake File={device}\n" for device in _FAKE_GPUS)
    (folder / "gres.conf").write_text("".join(gpus))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    return configuration


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=HANGS)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_idle(folder: Path, environment: dict[str, str]) -> None:
    end = time.monotonic() + 5 * HANGS
    while time.monotonic() < end:
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%T"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if set(done.stdout.split()) == {"idle"}:
            return
        time.sleep(0.1)
    logs = [path.read_text()[-2000:] for path in folder.glob("*.log")]
    raise RuntimeError("Slurm does not start:\n" + "\n".join(logs))
