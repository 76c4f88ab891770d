# TRIES: compile, eval, ast.parse, json.loads, re.compile of 100,000 nested parts
# Written for an audit of this project.
import ast,json,re
def t(f):
    try: f()
    except BaseException as e: print(type(e).__name__)
def solve(x):
    t(lambda:compile('('*100000+')'*100000,'s','eval')); t(lambda:ast.parse('-'*100000+'1')); t(lambda:json.loads('['*100000)); t(lambda:re.compile('('*5000+')'*5000)); t(lambda:eval('['*199+']'*199)); t(lambda:ast.literal_eval('('*90+')'*90))
    return 1
