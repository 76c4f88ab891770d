# TRIES: nan in lists, tuples, dicts: identity comparisons
# Written for an audit of this project.
n=float('nan')
def solve(x): return [[n,n],(n,),{n:n},n,-n,[float('inf')]*2][x%6]
