"""Training loops, one a task."""
