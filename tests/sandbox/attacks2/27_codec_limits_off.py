# TRIES: DEEPEST, _DIGITS, REPLY patched away, then a result that is too deep and too large
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
C.DEEPEST=10**6;C._DIGITS=10**9;R.REPLY=10**9
def solve(x):
    v=1
    for _ in range(60): v=[v]
    return [v, 1<<400000]
