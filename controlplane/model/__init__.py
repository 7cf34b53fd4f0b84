"""The words of the domain: kinds that operators write, records that the loop keeps, ports' contracts.

Frozen Pydantic models and enumerations; no I/O and no clock of its own. Everything above
meets in these words, also ``chaos``, which may not import more than this.
"""
