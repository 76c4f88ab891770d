# TRIES: measures every clock between calls to learn what the host does
# Written for an audit of this project.
import time
T=[]
def solve(x):
    T.append((time.perf_counter(),time.time(),time.monotonic_ns(),time.process_time()))
    try: T.append(time.gmtime())
    except BaseException as e: T.append(repr(e))
    print(T[-2:])
    return int(T[0][0]*1e6)
