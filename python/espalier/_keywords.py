"""Keywords of other libraries: the error names the keyword of this one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def suggests(**ours: str) -> Callable[[Function], Function]:
    """Decorates a function whose keywords have these other names elsewhere."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for name in options:
                if name in ours:
                    raise TypeError(f"{function.__name__}() has no keyword {name!r}; it is called {ours[name]!r} here.")
            return function(*arguments, **options)

        return call  # type: ignore[return-value]

    return decorate
