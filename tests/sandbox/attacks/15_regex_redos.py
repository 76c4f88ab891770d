# TRIES: catastrophic regular expression | MUST: time-limit verdict within limit + 1 s, worker replaced
import re


def solve(x):
    return bool(re.match(r"(a+)+$", "a" * 60 + "b"))
