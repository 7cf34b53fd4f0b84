"""Instant answers out of their bytes: what an answer says of labels is read once, and then only its values.

From tick to tick an answer's series are the same, in the same order. So each answer is taken
apart at its values; when all that stands between them is what stood there last time, byte for
byte, its labels are those of last time. Any other answer is decoded as JSON. It refuses what
is no vector and no scalar.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.kernel.errors import Unavailable
from controlplane.observe.series import Labels, Rows
from controlplane.observe.windows import Floats

REMEMBERED = 256
"""Answers whose labels are kept: those of about ten services."""

_MARK = b'"value":['
"""No label can hold it: a quote in one is escaped."""


@dataclass(frozen=True, slots=True)
class _Apart:
    """An answer's bytes: what stands between its values, and these."""

    between: bytes
    values: Floats


class Decoder:
    """Remembers of each query how it was answered last. Safe between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[bytes, Labels]] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, query: str, content: bytes) -> Rows:
        """Return the series of an answer to ``query``; raise `Unavailable` when it is none."""
        apart = _take_apart(content)
        if apart is None:
            return _decode(content)
        with self._lock:
            known = self._known.get(query)
        if known is not None and known[0] == apart.between:
            return Rows(known[1], apart.values)
        found = _decode(content)
        if np.array_equal(found.values, apart.values, equal_nan=True):
            with self._lock:
                self._known[query] = apart.between, found.labels
                self._known.move_to_end(query)
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
        return found


def _take_apart(content: bytes) -> _Apart | None:
    """Cut an answer at its values, all of one moment; None if it is not made so."""
    first = content.find(_MARK)
    stamp = content.find(b',"', first)
    if first < 0 or stamp < 0:
        return None
    head, *parts = content.split(content[first : stamp + 2])
    cut = [part.partition(b'"') for part in parts]
    try:
        values = np.array([float(value) for value, _, _ in cut])
    except ValueError:
        return None
    return _Apart(b"\0".join([head, *[rest for _, _, rest in cut]]), values)


def _decode(content: bytes) -> Rows:
    try:
        answer: Any = json.loads(content)["data"]["result"]
        if answer and not isinstance(answer[0], dict):
            return Rows([{}], np.array([float(answer[1])]))
        values = np.array([float(row["value"][1]) for row in answer], dtype=np.float64)
        return Rows([_shared(row["metric"]) for row in answer], values)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        msg = f"the metrics source answers what is no vector: {error!r}"
        raise Unavailable(msg) from error


def _shared(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels whose words are kept once, however many series have them."""
    return {sys.intern(name): sys.intern(value) for name, value in labels.items()}
