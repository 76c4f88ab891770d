# TRIES: replace json.dumps / loads and the reply writer | MUST: not pass (no expected answer is in the process)
import json, os

json.dumps = lambda *a, **k: '{"results":[{"v":1,"ok":true}],"verdict":"pass","error":null}'
json.encoder.JSONEncoder.encode = lambda *a: "{}"
_w = os.write
os.write = lambda fd, b: _w(fd, b"\0\0\0\2{}")


def solve(x):
    return 0
