"""What can call for a playbook: one file per trigger type, found by looking into this folder.

One more type is one new file here that touches no other. Third parties add theirs through
the entry point group ``fleetward.triggers``: a callable that is given the registry. All of
it is pure: values come in, verdicts go out.
"""
