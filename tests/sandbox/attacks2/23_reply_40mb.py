# TRIES: reply of 40 MB of NUL (six bytes each when escaped) in every call: memory of the worker outside the 96 MB
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
B='\0'*30_000_000
R.call=lambda a: B
def solve(x): return 0
