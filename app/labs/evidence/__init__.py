"""What a failed run left behind, and what it says: logs, stacks, and the faults that they name."""
