from pathlib import Path

import pytest

from app.labs.ranks.files import file_system_of

MOUNTS = """\
overlay / overlay rw,relatime 0 0
/dev/sda1 /home ext4 rw 0 0
server:/scratch /scratch nfs4 rw,vers=4.2 0 0
/dev/md0 /scratch/local\\040disk xfs rw 0 0
tmpfs /over tmpfs rw 0 0
lustre@tcp:/data /over lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/scratch/runs/one", "nfs4"),
        ("/scratch", "nfs4"),
        ("/scratch/local disk/one", "xfs"),
        ("/scratches/one", "overlay"),
        ("/home/me", "ext4"),
        ("/over/there", "lustre"),
    ],
)
def test_a_path_is_on_the_innermost_file_system_that_was_mounted_last(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert file_system_of(Path(path), mounts) == kind


def test_the_kernel_knows_the_file_system_of_its_own_files() -> None:
    assert file_system_of(Path("/proc/self")) == "proc"
    assert file_system_of(Path("/proc/self"), Path("/no/such/file")) == ""
