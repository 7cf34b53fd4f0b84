"""Who may do what: four roles, each of which may do all that the one before it may.

A viewer reads. An operator halts, and does things with runs. An approver also decides what
waits for a decision. An admin may do everything. Nobody decides what they asked for
themselves, whatever their role.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Tell whether this role may do what ``needed`` may."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


def same_person(one: str, other: str) -> bool:
    """Tell whether two names in the record are one person's: at a terminal (``cli:ada``) or by a token."""
    return one.removeprefix("cli:") == other.removeprefix("cli:")
