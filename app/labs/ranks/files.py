"""What a rank's files are stored on."""

from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_SPACE = "\\040"  # in that file


def file_system_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the file system that *path* is on, such as ext4, nfs4 or lustre.

    Empty if the kernel does not say; the last one that is mounted at a place counts.
    """
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    above = {path.resolve(), *path.resolve().parents}
    depth, found = 0, ""
    for line in lines:
        _, place, kind, *_ = line.split(" ")
        point = Path(place.replace(_SPACE, " "))
        if point in above and len(point.parts) >= depth:
            depth, found = len(point.parts), kind
    return found
