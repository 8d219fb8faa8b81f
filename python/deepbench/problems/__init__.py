"""Problems on the command line and in suites: arguments, ranges, default precisions, selection."""
