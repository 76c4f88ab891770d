"""In place of the database, in a browser: the rows of one learner."""
