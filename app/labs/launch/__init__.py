"""Ways to start the ranks of a run: on this machine, under Slurm, on Kubernetes."""
