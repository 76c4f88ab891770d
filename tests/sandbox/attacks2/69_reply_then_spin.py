# TRIES: replies to the first call, then spins in the second after raising the memory
# Written for an audit of this project.
n=[0]
def solve(x):
    n[0]+=1
    if n[0]>1:
        while True: pass
    return 1
