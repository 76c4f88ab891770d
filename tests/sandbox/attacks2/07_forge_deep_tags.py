# TRIES: value nested exactly 20 tagged tuples deep, wide at the bottom
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
def _c(a):
    return json.dumps([ '{"value":'+'{"tuple":['*9+'['+','.join(['1']*20000)+']'+']}'*9+'}',''])
R.call = _c
def solve(x): return 0
