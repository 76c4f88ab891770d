"""The first hour on a machine with GPUs: steps, each with what was found and what is expected."""
