# TRIES: another stdout | MUST: nothing leaks
import sys, io

sys.stdout = io.StringIO()
sys.stderr = sys.stdout
sys.__stdout__ = None


def solve(x):
    return 0
