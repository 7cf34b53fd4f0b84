"""The people of one case: who answers what the run asks, when, and with which word.

What the case says nothing about is approved at once: a test is of what follows. Answers are
given to the real desk, so that one which is not theirs to give is refused there, and the
question stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.act.approve import Answer as Word
from controlplane.act.approve import decide_approval
from controlplane.kernel.errors import Conflict, NotAllowed
from controlplane.model.approval import ApprovalRecord
from controlplane.model.identity import Role
from controlplane.model.rehearsal import Answer
from controlplane.store.database import Database

YES = Answer(approve=Role.ADMIN)


@dataclass(slots=True)
class People:
    """Gives the answers that are written, in their order, to each question that they are about."""

    answers: Sequence[Answer]
    refused: list[str] = field(default_factory=list)
    """What the desk said to answers that were not theirs to give."""
    _given: dict[str, int] = field(default_factory=dict)

    def moments(self, asked: Sequence[ApprovalRecord]) -> list[datetime]:
        """Return when each question that somebody still answers is answered next."""
        return [_at(each, answer) for each in asked if (answer := self._next(each)) is not None]

    def speak(self, database: Database, asked: Sequence[ApprovalRecord]) -> bool:
        """Give the answers whose time has come; False when there was none."""
        found = [(each, answer) for each in asked if (answer := self._next(each)) is not None]
        due = [(each, answer) for each, answer in found if _at(each, answer) <= database.now()]
        for question, answer in due:
            self._given[question.id] = self._given.get(question.id, 0) + 1
            try:
                _decide(database, question, answer)
            except (NotAllowed, Conflict) as error:
                self.refused.append(str(error))
        return bool(due)

    def _next(self, question: ApprovalRecord) -> Answer | None:
        asked_by = None if question.step is None else question.step.partition("[")[0]
        mine = [answer for answer in self.answers if answer.step == asked_by] or [YES]
        given = self._given.get(question.id, 0)
        return mine[given] if given < len(mine) and not mine[given].nobody else None


def _at(question: ApprovalRecord, answer: Answer) -> datetime:
    return question.requested_at + timedelta(seconds=answer.after)


def _decide(database: Database, question: ApprovalRecord, answer: Answer) -> None:
    role = answer.approve or answer.reject
    assert role is not None, "the model demands one word"  # noqa: S101
    word: Word = "rejected" if answer.approve is None else "approved"
    with database.transaction() as tx:
        decide_approval(tx, question.id, word, by=answer.by, role=role, comment=answer.comment)
