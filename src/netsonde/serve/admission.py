"""Who may still try to pair: wrong codes and unfinished connections are counted."""

from __future__ import annotations

from collections import Counter

WRONG_BY_ADDRESS = 5
WRONG_IN_TOTAL = 100
PENDING = 16
PENDING_BY_ADDRESS = 4
DELAY_STEP_S = 0.5
DELAY_LIMIT_S = 3.0
ADDRESSES_REMEMBERED = 10_000


class Admission:
    """Counts. A secret of 80 bits is not guessed anyway; this keeps the attempts cheap for us."""

    def __init__(self) -> None:
        self._wrong: Counter[str] = Counter()
        self._wrong_in_total = 0
        self._pending: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether one more connection of an address may be looked at now; leave() ends it."""
        if self._pending.total() >= PENDING or self._pending[address] >= PENDING_BY_ADDRESS:
            return False
        self._pending[address] += 1
        return True

    def leave(self, address: str) -> None:
        self._pending[address] -= 1
        if self._pending[address] <= 0:
            del self._pending[address]

    def refusal(self, address: str) -> str | None:
        """Why an address may not try any more, or None."""
        if self._wrong_in_total >= WRONG_IN_TOTAL:
            return (
                "this server has seen too many wrong pairing codes; restart netsonde serve for "
                "a new code"
            )
        if self._wrong[address] >= WRONG_BY_ADDRESS:
            return "too many wrong pairing codes came from this address"
        return None

    def wrong(self, address: str) -> float:
        """Notes a wrong code; returns the seconds by which its answer is delayed."""
        self._wrong_in_total += 1
        if address in self._wrong or len(self._wrong) < ADDRESSES_REMEMBERED:
            self._wrong[address] += 1
        return min(DELAY_LIMIT_S, DELAY_STEP_S * self._wrong[address])

    def right(self, address: str) -> None:
        self._wrong.pop(address, None)
