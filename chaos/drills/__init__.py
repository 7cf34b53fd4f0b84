"""Drills: preconditions, hypothesis, faults, verdict, report.

A drill runs on the durable engine as a run of kind ``drill``. What judges it (`verdict`,
`probes`) reads the traffic generator's own record and plain PromQL, and never the control
plane's observing or deciding code.
"""
