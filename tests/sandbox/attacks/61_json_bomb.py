# TRIES: forged reply: 30 000 nested lists, duplicate keys, 1e999, huge ints | MUST: protocol error, host alive
import os

for b in (
    b"[" * 30000,
    b'{"results":[{"v":' + b"9" * 30000 + b"}]}",
    b'{"results":[{"v":1e999}],"results":NaN}',
    b"\xff\xfe\x00",
):
    for fd in (1, 3):
        try:
            os.write(fd, len(b).to_bytes(4, "big") + b)
        except OSError:
            pass
    break


def solve(x):
    os._exit(0)
