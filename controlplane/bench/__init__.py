"""How many steps the engine carries a second, beside bare Celery on the same broker in the same run.

A share of a peer that runs on the same machine in the same minute says something on any
machine; a bare figure does not. The embedded fleet's own figures are ``chaos.bench``.
"""
