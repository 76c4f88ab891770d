# TRIES: comparison that grows the list while it is sorted
# Written for an audit of this project.
L=[]
class X:
    def __lt__(s,o):
        L.append(s); return True
def solve(x):
    L[:]=[X() for _ in range(10**5)]
    while True: L.sort()
