# TRIES: create files in /tmp, cwd, /dev/shm and the package directory | MUST: refused; no file appears
import os


def solve(x):
    r = []
    for p in (
        "/tmp/pwned_file",
        "pwned_file",
        "/dev/shm/pwned_file",
        "/jail/pwned_file",
        os.path.dirname(os.__file__) + "/pwned_file.py" if hasattr(os, "__file__") else "/x",
    ):
        try:
            open(p, "w").write("x")
            r.append(p)
        except BaseException as e:
            r.append(type(e).__name__)
    return r
