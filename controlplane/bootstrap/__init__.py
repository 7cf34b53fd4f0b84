"""The only place that picks implementations and puts them together.

One module per thing that an entry point needs, so that a quick command does not load what
only a worker needs. Other packages add to it through entry points: ``fleetward.actions``
(given the action registry), ``fleetward.faults`` (given the fault registry),
``fleetward.ports`` (given the state directory, returns ports).
"""
