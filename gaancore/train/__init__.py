"""Training: the only place where sampler, model and optimiser meet."""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """This package, which is the function `gaancore.train` too: one name serves both."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return self._function()(*args, **settings)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._function().__doc__

    @property
    def __signature__(self) -> Signature:
        return signature(self._function())

    def _function(self) -> Any:
        return import_module("gaancore.door.training").train


sys.modules[__name__].__class__ = _Callable
