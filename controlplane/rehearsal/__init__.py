"""Playing a playbook offline: the real loop's decision and the real engine, on a fleet in memory.

It stands above controller and worker because it plays both; only the command line starts
it. There is no service, no thread and no waiting: time is virtual, the database lives in
memory, and what the outside answers is written in the test. It refuses to reach anything
outside of this process.
"""
