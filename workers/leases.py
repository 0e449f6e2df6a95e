"""The heartbeat of a process: while it lives, what it works on stays its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from burnish.store.leases import Lease, renew

logger = logging.getLogger(__name__)

BEATS_PER_LEASE = 4


class Heartbeat:
    """Renews all leases that this process holds, several times before they run out."""

    def __init__(self, database: Engine, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self._database = database
        self._held: set[Lease] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    @contextmanager
    def holding(self, lease: Lease) -> Generator[None, None, None]:
        """Keep the lease for the block."""
        with self._lock:
            self._held.add(lease)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(lease)

    def stop(self) -> None:
        self._stopped.set()

    def _beat(self) -> None:
        while not self._stopped.wait(self.lease_seconds / BEATS_PER_LEASE):
            with self._lock:
                held = frozenset(self._held)
            if held:
                self._renew(held)

    def _renew(self, held: frozenset[Lease]) -> None:
        try:
            with self._database.begin() as connection:
                renew(connection, held, self.lease_seconds)
        except SQLAlchemyError as error:
            logger.warning("leases were not renewed: %s", type(error).__name__)
