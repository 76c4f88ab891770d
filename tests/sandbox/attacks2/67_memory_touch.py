# TRIES: touches 90 MB in each of the calls and leaves it
# Written for an audit of this project.
K=[]
def solve(x):
    K.append(bytes(7_000_000)); return len(K)
