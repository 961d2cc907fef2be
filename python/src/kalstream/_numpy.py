"""NumPy, imported when it is first used: that takes longer than all else here, and a program may never need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    ArrayLike = npt.ArrayLike
else:
    Array = ArrayLike = Any

    class _Later:
        """Stands for a module. What is asked for stays here, so that it is looked up once."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            from importlib import import_module

            value = getattr(import_module(self._name), name)
            setattr(self, name, value)
            return value

    np = _Later("numpy")
    npt = _Later("numpy.typing")

__all__ = ["Array", "ArrayLike", "np", "npt"]
