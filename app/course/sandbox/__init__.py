"""Learner code in another process, behind walls that are proven at every start.

`runner` is the way in and `execution` what comes out. The code runs in `guest`, a Python of its own
inside a WebAssembly component that imports nothing; `worker` is the process around it, locked down
by `lockdown`; `build` makes the component once, and `component` caches it; `self_test` proves that
the isolation holds. `pool` keeps the workers alive and `fair_queue` schedules runs on them.
`service` offers a pool to web servers, whose `remote` asks it; `wire` is what they say.

Each file has one trust level. Inside the worker: `guest`, `worker`, `lockdown`, `engine`. In the
server: `process` and `replies` treat all that comes from a worker as hostile.
"""
