"""The durable run engine: it executes playbooks and drills so that a crash at any instant
loses nothing and repeats nothing.

A run is rows. Whoever holds its lease advances it: looks at the rows, does the one thing
that is due outside of any transaction, and writes down what came of it in the transaction
that also decides what is next. It refuses to hold a worker while it waits, and to act on
memory: after a crash the rows alone say where to go on.
"""
