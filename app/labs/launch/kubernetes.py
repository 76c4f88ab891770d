"""Runs that another program starts, one process per rank, and their Kubernetes manifest."""

from collections.abc import Sequence
from pathlib import Path

from app.labs.launch.base import written
from app.labs.run import Run
from app.labs.spec import Job

_EXTRA = 300  # seconds to pull images and find nodes
_MANIFEST = """\
# wallclock lab show {run}
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed # one pod per rank: its index is its rank
  completions: {ranks}
  parallelism: {ranks}
  backoffLimit: 0
  activeDeadlineSeconds: {seconds}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: rank
          image: {image}
          command: [python, -m, app.labs.launch.rank_main, {folder}]
          env:
            - {{name: WORLD_SIZE, value: "{ranks}"}}{limits}
          volumeMounts:
            - {{name: runs, mountPath: {root}}}
            - {{name: memory, mountPath: /dev/shm}} # NCCL needs more than the default 64 MB
      volumes:
        - name: runs
          persistentVolumeClaim: {{claimName: {claim}}}
        - name: memory
          emptyDir: {{medium: Memory}}
"""
_LIMITS = """
          resources:
            limits: {nvidia.com/gpu: 1}"""


def prepared(job: Job, folder: Path, backend: str, notes: Sequence[str] = ()) -> Run:
    """The run of *job*, which begins when its ranks are started; it needs no leader.

    Raises:
        UnavailableError: it cannot be stored.
    """
    return written(folder, job, backend, launcher="by hand", notes=notes)


def manifest(run: Run, image: str, claim: str) -> str:
    """A Kubernetes Job for *run*, indexed.

    The folder of runs must be a shared volume, called *claim*, at the same path in the pods;
    *image* has this package with torch.
    """
    job = run.job
    return _MANIFEST.format(
        run=run.id, name=f"lab-{run.id}", ranks=job.ranks, image=image, claim=claim,
        seconds=round(job.seconds + _EXTRA), folder=run.folder.absolute(),
        root=run.folder.parent.absolute(), limits=_LIMITS if job.backend == "nccl" else "",
    )  # fmt: skip
