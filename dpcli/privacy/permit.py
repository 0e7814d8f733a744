"""Permission to open an answer, because it is charged or about synthetic rows."""

from __future__ import annotations

from typing import Any, Never, NoReturn, final

from dpcli.privacy.confidential import Confidential
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.neighboring import Relation


@final
class NoisePermit:
    """Lets mechanisms open certain answers with noise; its issuer decides which.

    `OpenCharge.draw_noise` issues one for the answers that the ledger charges for, each of them
    once, and `SyntheticDataset` one for answers about its own rows. The rule of a permit has a
    name that `mypy --strict` lets no other class write; a test counts those that do. Code that
    keeps noisy answers and leaves the open charge by a failure is not charged: a failure
    publishes nothing.
    """

    __slots__ = ("__rule",)

    def __init__(self, _made_by_issuer: Never) -> None:
        raise TypeError("only an open charge of a ledger and synthetic rows issue a permit")

    def __init_subclass__(cls) -> None:
        raise TypeError("a permit cannot be subclassed")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a permit is not copied")

    def use(self, event: MechanismEvent, relation: Relation, exact: Confidential[Any]) -> None:
        """Raise ValueError unless this answer may be given, now."""
        self.__rule(event, relation, exact)  # type: ignore[attr-defined]
