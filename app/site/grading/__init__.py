"""Grade answers: one that is stored, a file of them offline, and the results sent to programs."""
