"""Launch the ranks of a run: on this machine, under Slurm, or by torchrun."""
