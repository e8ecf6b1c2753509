"""Experience on its way from an actor's step to the learner's batch."""
