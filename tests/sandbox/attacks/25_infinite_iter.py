# TRIES: return an infinite iterator | MUST: type error verdict, never iterated without bound
import itertools


def solve(x):
    return itertools.count()
