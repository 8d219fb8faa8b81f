"""Compares two environments on one device, such as two versions of a library: measures both in
turns, and says for each row whether they differ.

side.py holds the workers of one environment, run.py makes the pairs, paired_test.py is their
statistics, and result.py holds what follows. deepbench.report.ab presents the result.
"""
