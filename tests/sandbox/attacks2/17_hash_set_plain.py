# TRIES: 2,000 ints that collide in the host's 64-bit hash (not in the guest's 32-bit one), as a set
# Written for an audit of this project.
def solve(x):
    return {k * (2**61 - 1) for k in range(1, 1900)}
