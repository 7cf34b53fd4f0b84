"""Wake-ups on their way, in memory: what is sent, delivered, lost and doubled."""

from controlplane.kernel.errors import Unavailable


class Mailbox(list[str]):
    """A list of messages. ``copies``: how often each is delivered; ``refused``: so many sends fail next."""

    copies = 1
    refused = 0

    def append(self, run_id: str) -> None:
        if self.refused > 0:
            self.refused -= 1
            msg = "the broker does not take messages"
            raise Unavailable(msg)
        super().append(run_id)

    def take(self) -> list[str]:
        """Return what is delivered now."""
        found, self[:] = [run_id for run_id in self for _ in range(self.copies)], []
        return found

    def lose(self) -> None:
        """Lose everything that is on its way, and be away for a moment."""
        self.clear()
        self.refused = 1
