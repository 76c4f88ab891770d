"""Labs as a site works with them: the queue, runs that are sent in, and runs that answer a question."""
