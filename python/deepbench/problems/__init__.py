"""What can be asked for: problems, their lists and ranges, precisions, and suites of problems."""
