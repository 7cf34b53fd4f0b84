"""Cards and their errors: the exporter's last code as events, and the ladder that repeats climb.

The gauge keeps the last code until the driver is loaded again, so that only a change is an
event; a code that is there at the first sight is history. What was seen is kept by the
caller beside the loop, so that a take-over neither repeats nor loses an event, and so is an
exporter that starts again with the old code. Two equal codes in a row are one: nobody can
tell them apart. Health fields are states, bad for as long as they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.gpu import GPU, is_event
from controlplane.model.xid import HEALTH, LADDER, Ailment, Rung, ailment, higher, name_of
from controlplane.observe.answers import Card

SNAPSHOT = "cards"
"""The name of the snapshot that holds a `CardBook`."""
ACTIVE = 60.0
"""Seconds for which an event counts as bad; it has no end of its own."""
REPEATS = 24 * 3600.0
"""Seconds within which the same error of the same card climbs the ladder."""
SOURCE = "gpu"


class CardEvent(Model):
    """A code that came up, the rung that it led to, and when (unix seconds)."""

    code: int
    at: float
    rung: Rung


class CardMemory(Model):
    """The last code of a card, and its events within `REPEATS`."""

    code: int
    pod: str = ""
    events: tuple[CardEvent, ...] = ()


class CardBook(Model):
    """What is known of all cards of a service, by node and UUID."""

    cards: dict[str, CardMemory] = Field(default_factory=dict)

    def after(self, seen: Iterable[Card], now: float) -> CardBook:
        """Return the book after a tick's look; the same one when nothing has changed."""
        cards = dict(self.cards)
        for card in seen:
            code = int(card.values.get("gpu_xid", 0))
            known = cards.get(card.key)
            if known is None:
                cards[card.key] = CardMemory(code=code, pod=card.pod)
            elif code != known.code or (card.pod and card.pod != known.pod):
                cards[card.key] = _after(known, code, card.pod or known.pod, now)
        return self if cards == self.cards else CardBook(cards=cards)


def _after(known: CardMemory, code: int, pod: str, now: float) -> CardMemory:
    events = tuple(event for event in known.events if event.at > now - REPEATS)
    if code not in {0, known.code}:
        earlier = [event.rung for event in events if event.code == code]
        rung = ailment(name_of(code)).rung
        if earlier and rung != "none":
            rung = higher(max(earlier, key=LADDER.index))
        events = (*events, CardEvent(code=code, at=now, rung=rung))
    return CardMemory(code=code, pod=pod, events=events)


def verdicts(
    book: CardBook,
    seen: Sequence[Card],
    targets: Sequence[Target],
    open_signals: Iterable[str],
    at: datetime,
    *,
    fresh: bool,
) -> list[Verdict]:
    """Judge every error that is active; one whose incident is open is over, or unknown without sight."""
    places = {target.name: target for target in targets if target.level == "replica"}
    found: dict[Signal, Verdict] = {}
    for name, node, pod, rung in (*_events(book, at.timestamp()), *(_health(seen) if fresh else ())):
        kind = ailment(name)
        if kind.fault == "secondary":
            continue
        wide = kind.fault in {"node", "fabric"} or rung in {"replace-node", "support"}
        signal = Signal(GPU, name, node if wide else places.get(pod, node))
        before = found.get(signal)
        if before is None or LADDER.index(rung) > LADDER.index(_rung(before)):
            found[signal] = _bad(signal, kind, rung, at)
    for text in open_signals:
        signal = Signal.parse(text)
        if signal.kind == GPU and signal not in found:
            found[signal] = _over(signal, at, fresh=fresh)
    return list(found.values())


def _events(book: CardBook, now: float) -> Iterator[tuple[str, Target, str, Rung]]:
    for key, card in book.cards.items():
        for event in card.events:
            if now - event.at <= ACTIVE:
                yield name_of(event.code), Target.parse(key.partition("#")[0]), card.pod, event.rung


def _health(seen: Iterable[Card]) -> Iterator[tuple[str, Target, str, Rung]]:
    for card in seen:
        for name, kind in HEALTH.items():
            if card.values.get(f"gpu_{name.replace('-', '_')}", 0.0) > 0:
                yield name, card.node, card.pod, kind.rung


def _rung(verdict: Verdict) -> Rung:
    return next(rung for rung in LADDER if rung == verdict.tiers[0])


def _state(at: datetime, detail: str, *, good: bool | None) -> SignalState:
    value = None if good is None else float(not good)
    return SignalState(good=good, value=value, objective=0.0, samples=1.0, since=at, until=at, detail=detail)


def _bad(signal: Signal, kind: Ailment, rung: Rung, at: datetime) -> Verdict:
    return Verdict(
        signal,
        _state(at, f"{kind.text}; {rung}", good=False),
        tiers=(rung,),
        severity="ticket" if kind.fault == "warning" else "page",
        accusers=frozenset({SOURCE}),
        event=is_event(signal),
    )


def _over(signal: Signal, at: datetime, *, fresh: bool) -> Verdict:
    state = _state(at, "", good=True if fresh else None)
    return Verdict(signal, state, blind=not fresh, event=is_event(signal))
