"""What is closed at the end of its with statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """For what has something open until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Ends what is open; a second time does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
