# TRIES: dump os.environ, /proc/self/environ, /proc/1/environ | MUST: no host variable in the reply
import os


def solve(x):
    r = [dict(os.environ)]
    for p in (
        "/proc/self/environ",
        "/proc/1/environ",
        f"/proc/{os.getppid() if hasattr(os, 'getppid') else 1}/environ",
        "/proc/self/cmdline",
        "/proc/1/cmdline",
    ):
        try:
            r.append(open(p).read())
        except BaseException as e:
            r.append(type(e).__name__)
    print(r)
    return str(r)
