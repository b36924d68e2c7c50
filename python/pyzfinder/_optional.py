"""Packages that only some functions need."""

import importlib
from types import ModuleType


def require(package: str, extra: str) -> ModuleType:
    """Imports a package; the error of a missing one says how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        message = f"this function needs the package {error.name}: pip install 'pyzfinder[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from None
