"""Recorded metrics through the loop, on a virtual clock: what would have fired, and what done about it.

The code that observes, judges, keeps incidents and asks the guards is the loop's own; only its
surroundings are others: the past for the metrics, a fleet as the metrics show it, a database in memory,
and runs that are drawn and never executed. It writes nowhere. What it cannot know it says.
"""
