"""The runner: starts the ranks of a run, times what they do, and writes files.

It imports nothing of the app, and torch only in ranks and in the process that forks them. All that it
is told is in `job.json`, in plain numbers and strings; all that it finds is in the files beside it.
Specifications, predictions, blame, analysis and pages stand beside it and read these files.

The way of one number, from `dist.all_reduce` to the table:

    1  job.Job              what to run: ranks, sizes in bytes, seconds           job.json
    2  leader.lead          locks the devices, forks a process per rank
    3  process.work         meets the other ranks, imports the worker of the lab
    4  the worker           dist.all_reduce(array), handed over as a call
    5  timer.Timer          warm-up, barrier, call, clock; the maximum over ranks
    6  core_waits           how long threads were ready and had no core meanwhile
    7  proof.Pattern        the same call on known integers, compared everywhere
    8  events               a line with the samples, if the numbers were right    events.jsonl
    9  leader               exit codes, and the stacks of ranks that were late    outcome.json
   10  results.analysis     the median of the samples, beside the formula         (outside)

Everything is started in one way: `python -m app.labs.runner job.json`. With a rank in the environment,
as Slurm and torchrun set it, it is that rank; without one, it is the leader of all ranks here.
"""
