# TRIES: raise the recursion limit, overflow the C stack | MUST: crash or error verdict for this run only; next run fine
import sys

sys.setrecursionlimit(10**9)


def solve(x):
    return solve(x + 1)
