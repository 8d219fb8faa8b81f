"""Acceptance of a machine: chosen rows of a reference are measured again, family by family, and a
verdict says whether the machine is what it should be (docs/guide/accept.md).

reference.py reads the reference, families.py chooses its rows, measurement.py measures them,
counters.py reads the counts of errors, tolerance.py says how far a family may be off, verdict.py
decides, and page.py shows it.
"""
