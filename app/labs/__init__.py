"""Labs: predict a number, run the real experiment, see both side by side.

A lab is a folder in `library`: its `lab.yaml` says what is measured, with which parameters, and
which formula predicts it; its `worker.py` is the program of every rank, fixed code to which a
learner can only give numbers. Only what the ranks run imports torch.
"""
