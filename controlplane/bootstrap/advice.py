"""Advice on a service from what is stored: for the API and the command line alike."""

from __future__ import annotations

from controlplane.decide.advice import Evident, advise
from controlplane.model.advice import Advice
from controlplane.store import advice, objectives
from controlplane.store.transaction import Transaction


def advice_on(tx: Transaction, service: str) -> Advice:
    """Return what the field knows to do about a service now; `NotFound` if it is not in force."""
    found = advice.service_of(tx, service)
    mine = [
        each for whole in objectives.objectives(tx) for each in whole.objectives if each.service == service
    ]
    loaded = {each.name for each in tx.documents.active("Playbook")}
    return advise(Evident(found, advice.readings(tx, service), mine, loaded))
