"""Op families that a learner rarely meets. They are registered as those of `ops/` are."""
