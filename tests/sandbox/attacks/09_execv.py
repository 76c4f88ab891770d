# TRIES: replace the process by a shell | MUST: refused
import os


def solve(x):
    os.execv("/bin/sh", ["sh", "-c", "touch /tmp/pwned_exec; echo pass"])
