# TRIES: C code that never looks at signals: zfill, center, %*d, struct, zlib bomb, factorial, normalise
# Written for an audit of this project.
import struct,zlib,math,unicodedata
def t(f):
    try: f()
    except BaseException as e: print(type(e).__name__)
def solve(x):
    t(lambda:'1'.zfill(10**9)); t(lambda:'%*d'%(10**9,1)); t(lambda:struct.pack('1000000000x'))
    t(lambda:zlib.decompress(zlib.compress(b'0'*2_000_000)*50)); t(lambda:unicodedata.normalize('NFD','\u0315\u0300'*200000)); t(lambda:math.factorial(10**7))
    return 1
