# TRIES: close or duplicate the reply channel | MUST: no-result verdict
import os

for fd in range(0, 64):
    try:
        os.close(fd)
    except OSError:
        pass


def solve(x):
    return 0
