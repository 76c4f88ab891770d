# TRIES: just under the limit on every one of many calls | MUST: one total budget for the whole submission, not per call
import time


def solve(x):
    n = 0
    for i in range(30_000_000):
        n += i
    return n
