# TRIES: sys.exit(0) at module level | MUST: never pass; a plain error is shown
import sys

sys.exit(0)


def solve(x):
    return x
