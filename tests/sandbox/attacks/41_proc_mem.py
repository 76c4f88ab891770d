# TRIES: read/write memory of self and parent through /proc | MUST: refused
import os


def solve(x):
    r = []
    for p in ("self", os.getppid() if hasattr(os, "getppid") else 1, 1, 2):
        for f in ("maps", "mem", "cwd", "root/etc/passwd", "fd"):
            try:
                r.append(open(f"/proc/{p}/{f}", "rb").read(50))
            except BaseException as e:
                r.append(type(e).__name__)
    return str(r)
