"""Runs that somebody else starts: written down here, one command a rank."""

from pathlib import Path

from app.labs.run import Run, written
from app.labs.spec import Job

_EXTRA = 300  # seconds for images and nodes to be there
_MANIFEST = """\
# wallclock lab show {run}
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed # a pod a rank: its index is its rank
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
            - {{name: memory, mountPath: /dev/shm}} # NCCL wants more than the 64 MB of a container
      volumes:
        - name: runs
          persistentVolumeClaim: {{claimName: {claim}}}
        - name: memory
          emptyDir: {{medium: Memory}}
"""
_LIMITS = """
          resources:
            limits: {nvidia.com/gpu: 1}"""


def prepared(job: Job, folder: Path, backend: str) -> Run:
    """The run of *job*, which begins when its ranks are started; nobody has to watch it.

    Raises:
        UnavailableError: it cannot be written down.
    """
    return written(folder, job, backend, launcher="by hand")


def manifest(run: Run, image: str, claim: str) -> str:
    """An indexed Job of Kubernetes for *run*.

    The runs' folder must be a shared volume, called *claim*, at the same path in the pods; *image*
    has this package with torch.
    """
    asked = run.asked
    return _MANIFEST.format(
        run=run.id, name=f"lab-{run.id}", ranks=asked["ranks"], image=image, claim=claim,
        seconds=round(float(str(asked["seconds"])) + _EXTRA), folder=run.folder.absolute(),
        root=run.folder.parent.absolute(), limits=_LIMITS if asked["backend"] == "nccl" else "",
    )  # fmt: skip
