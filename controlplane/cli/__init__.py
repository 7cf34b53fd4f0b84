"""The command ``fleetward``: what operators type.

Each command reads or writes the database directly, so that it works with the API down.
Exit codes: 0 as hoped; 1 the thing asked about failed; 2 wrong use, or could not start;
3 inconclusive or aborted.
"""
