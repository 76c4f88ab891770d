# TRIES: os.fork in a loop | MUST: fork refused; process count on the host unchanged
import os


def solve(x):
    while True:
        os.fork()
