# TRIES: an endless loop in the module body | MUST: a time verdict
while True:
    pass
