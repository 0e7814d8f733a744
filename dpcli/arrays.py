"""numpy and the types of its arrays, loaded at the first use: plans need none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Array", "Bools", "Floats", "Ints", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
else:
    Array = Bools = Floats = Ints = Any

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            setattr(self, name, getattr(numpy, name))
            return getattr(numpy, name)

    np = _Numpy()
