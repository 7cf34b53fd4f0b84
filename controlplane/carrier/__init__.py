"""What carries wake-ups between processes: Celery over Redis. Alone imports either.

A message is a run's id and nothing else. The database is the truth: losing a message only
delays a run until the sweeper sends it again, and a double finds nothing to do.
"""

from controlplane.carrier.sender import Sender
from controlplane.carrier.serve import serve

__all__ = ["Sender", "serve"]
