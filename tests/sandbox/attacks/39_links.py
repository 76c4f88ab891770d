# TRIES: symlink / hardlink / rename / chmod / chroot tricks (Judge0 CVE-2024-28185/28189 shape) | MUST: refused; nothing outside changes
import os


def solve(x):
    r = []
    for f in (
        lambda: os.symlink("/etc", "/tmp/pwned_link"),
        lambda: os.link("/etc/passwd", "/tmp/pwned_hl"),
        lambda: os.rename("/tmp/canary/file", "/tmp/pwned_mv"),
        lambda: os.chmod("/tmp/canary/file", 0o777),
        lambda: os.unlink("/tmp/canary/file"),
        lambda: os.chroot("/"),
    ):
        try:
            f()
            r.append("DONE")
        except BaseException as e:
            r.append(type(e).__name__)
    return r
