"""Measures the promises that are speeds and sizes, on the real parts, and prints each with its bound.

These are benchmarks, not tests: machines differ and are shared. Every figure is measured
in this run; the bounds stand beside them so that a reader can judge.
"""
