# TRIES: exception whose __str__, __name__, __traceback__ misbehave
# Written for an audit of this project.
class M(type):
    @property
    def __name__(c): raise SystemExit(0)
class E(Exception, metaclass=M):
    def __str__(s): raise KeyboardInterrupt
def solve(x):
    raise E()
