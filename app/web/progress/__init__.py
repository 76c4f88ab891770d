"""Progress of a learner."""
