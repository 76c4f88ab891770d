# TRIES: a codec of one's own | MUST: wrong or an error
import sys

codec = sys.modules.get("codec")
if codec:
    codec.encode = lambda v, d=0: {"float": "424242.0"}


def solve(x):
    return 0
