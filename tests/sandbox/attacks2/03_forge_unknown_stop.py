# TRIES: guest reply forged: stopped = an object / unknown word
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
def _c(a):
    return json.dumps([json.dumps({'stopped': {'a': [1]}}), ''])
R.call = _c
def solve(x): return 0
