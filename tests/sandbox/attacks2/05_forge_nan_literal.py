# TRIES: NaN, Infinity, -0.0 and 1e999 as bare JSON and as tagged floats
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
V=['NaN','Infinity','1e999','{"float":"nan"}','{"float":"inf"}','{"float":"-0.0"}','{"float":"1_0.0"}','{"int":"-0"}','{"complex":["nan","inf"]}','-0']
n=[0]
def _c(a):
    n[0]+=1
    return json.dumps(['{"value":'+V[n[0]%len(V)]+'}',''])
R.call=_c
def solve(x): return 0
