# TRIES: a reply of one's own in place of json.dumps | MUST: wrong or an error
import json


def forged(o, **k):
    return '["{\\"value\\": 424242}", ""]'


json.dumps = forged


def solve(x):
    return 424242
