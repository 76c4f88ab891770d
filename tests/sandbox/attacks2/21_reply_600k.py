# TRIES: reply of 600 kB in every call: frame near the host's 8 MB limit
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
def _c(a):
    return 'x'*600000
R.call = _c
def solve(x): return 0
