# TRIES: kill the parent, init, and everything | MUST: refused; server and workers alive
import os


def solve(x):
    r = []
    for p in (os.getppid() if hasattr(os, "getppid") else 1, 1, 2, -1, 0):
        try:
            os.kill(p, 9)
            r.append("KILLED %s" % p)
        except BaseException as e:
            r.append(type(e).__name__)
    return r
