# TRIES: print past the limit: append to the list of printed parts directly, 30 MB
# Written for an audit of this project.
import sys
P=sys.modules['running']._Program.printed
P.parts.append('A'*30_000_000)
def solve(x):
    P.parts.append('B'*30_000_000)
    return 1
