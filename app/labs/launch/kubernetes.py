"""Runs that another program starts: with torchrun on each node, or as a Kubernetes Job."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import yaml

from app.errors import InputError
from app.labs.launch.base import write_run
from app.labs.run import LabRun
from app.labs.spec import LabJob

_STARTING = 1800.0  # seconds until all nodes are free, and have the image
_PROGRAM = "app.labs.runner"
_GPU = "nvidia.com/gpu"
_RUN = "wallclock-run"  # the label of a run's pods
# For a rank: processors, and memory including its part of /dev/shm.
_CPUS = {"nccl": 4, "gloo": 1}
_MEMORIES = {"nccl": "16Gi", "gloo": "2Gi"}
_RDMA = re.compile(r"rdma|/hca|roce|infiniband|efa", re.IGNORECASE)
_HOST_NETWORK = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
_RESOURCE = re.compile(r"[\w.-]+/[\w.-]+(=[1-9]\d*)?")
_NETWORKS = "k8s.v1.cni.cncf.io/networks"
_ANNOTATION = re.compile(r"([a-z0-9.-]{1,253}/)?[\w.-]{1,63}=")
_MEMORY = re.compile(r"[1-9]\d*[KMGT]i")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOptions:
    """What the pods of a run get: one per node, with all ranks of the node in it.

    *resources* are names, of a device for each rank, or NAME=COUNT for each pod. *cpus* and
    *memory* are for each rank; zero and empty mean a default that depends on the backend.
    *annotations* are KEY=VALUE, such as the networks to attach; *host_network* gives the pods the
    network of their node instead.

    Raises:
        InputError: one cannot be read.
    """

    image: str
    claim: str
    resources: tuple[str, ...] = ()
    cpus: int = 0
    memory: str = ""
    annotations: tuple[str, ...] = ()
    host_network: bool = False

    def __post_init__(self) -> None:
        for text in self.resources:
            if not _RESOURCE.fullmatch(text):
                raise InputError(f"--resource must be like {_GPU} or rdma/hca=1, not {text!r}")
        for text in self.annotations:
            if not _ANNOTATION.match(text):
                raise InputError(f"--annotation must be like {_NETWORKS}=rdma-net, not {text!r}")
        if self.cpus < 0:
            raise InputError(f"--cpus must not be negative, and is {self.cpus}")
        if self.memory and not _MEMORY.fullmatch(self.memory):
            raise InputError(f"--memory must be like 16Gi, not {self.memory!r}")

    def annotated(self) -> Mapping[str, Mapping[str, str]]:
        """The annotations of a pod, if there are any, for its metadata."""
        found = {key: value for key, _, value in (one.partition("=") for one in self.annotations)}
        return {"annotations": found} if found else {}

    def shares(self, ranks: int, backend: str) -> Mapping[str, str]:
        """The processors and the memory of a pod with that many *ranks*."""
        amount, unit = re.split(r"(?<=\d)(?=\D)", self.memory or _MEMORIES[backend])
        cpus = self.cpus or _CPUS[backend]
        return {"cpu": str(ranks * cpus), "memory": f"{ranks * int(amount)}{unit}"}

    def devices(self, ranks: int, backend: str) -> Mapping[str, int]:
        """The devices of a pod with that many *ranks*, by the names of their resources."""
        asked = (text.partition("=") for text in self.resources)
        found = {name: int(count or ranks) for name, _, count in asked}
        if backend == "nccl" and all("=" in text for text in self.resources):
            return {_GPU: ranks, **found}
        return found


def prepared(job: LabJob, folder: Path, backend: str, notes: Sequence[str] = (), network: str = "") -> LabRun:
    """The run of *job*, which begins when its ranks are started; it needs no leader.

    Raises:
        UnavailableError: it cannot be stored.
    """
    return write_run(folder, job, backend, launcher="by hand", notes=notes, starting=_STARTING, network=network)


def instructions(run: LabRun) -> str:
    """How to start the ranks of *run* without Kubernetes."""
    job, program = run.job, f"-m {_PROGRAM} {quote(str(run.folder.absolute()))}"
    nodes = job.nodes or 1
    if nodes > 1:
        where = f"On each of {nodes} nodes, where HOST is the first and N is 0 there"
        meeting = f"--nnodes={nodes} --node-rank=N --master-addr=HOST"
    else:
        where, meeting = "On one machine", "--standalone"
    return (
        f"run {run.id}\n{where}:\n"
        f"    torchrun {meeting} --nproc-per-node={job.ranks // nodes} {program}\n"
        f"Or start each rank with RANK, WORLD_SIZE={job.ranks} and, with several GPUs on a "
        f"machine, LOCAL_RANK set:\n"
        f"    python {program}\n"
    )


def kubernetes_job(run: LabRun, options: PodOptions) -> str:
    """A Kubernetes Job for *run*, with a pod for each node.

    The folder of runs must be a shared volume, at the same path in the pods, and the image must
    have this package with torch. The Job has no deadline, which would include the wait for GPUs and
    for the image: ranks keep the limits of the run themselves.
    """
    job, name = run.job, f"lab-{run.id}"
    nodes = job.nodes or 1
    plain = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": nodes,
            "parallelism": nodes,
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {_RUN: run.id}, **options.annotated()},
                "spec": _pod(run, nodes, options),
            },
        },
    }
    return f"# wallclock lab show {run.id}\n{yaml.safe_dump(plain, sort_keys=False)}"


def _pod(run: LabRun, nodes: int, options: PodOptions) -> Mapping[str, object]:
    apart = {"labelSelector": {"matchLabels": {_RUN: run.id}}, "topologyKey": "kubernetes.io/hostname"}
    only_one = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return {
        "restartPolicy": "Never",
        **(_HOST_NETWORK if options.host_network else {}),
        **({"affinity": only_one} if nodes > 1 else {}),
        "containers": [_container(run, nodes, options)],
        "volumes": [
            {"name": "runs", "persistentVolumeClaim": {"claimName": options.claim}},
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
        ],
    }


def _container(run: LabRun, nodes: int, options: PodOptions) -> Mapping[str, object]:
    ranks = run.job.ranks // nodes
    devices = options.devices(ranks, run.job.backend)
    locks = {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}
    return {
        "name": "ranks",
        "image": options.image,
        "command": [
            "python",
            "-m",
            "torch.distributed.run",
            "--standalone",
            f"--nproc-per-node={ranks}",
            "-m",
            _PROGRAM,
            str(run.folder.absolute()),
        ],
        "resources": {"requests": options.shares(ranks, run.job.backend), **({"limits": devices} if devices else {})},
        **(locks if any(map(_RDMA.search, devices)) else {}),
        "volumeMounts": [
            {"name": "runs", "mountPath": str(run.folder.parent.absolute())},
            {"name": "memory", "mountPath": "/dev/shm"},  # NCCL needs more than the usual 64 MB
        ],
    }
