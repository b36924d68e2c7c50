"""Exceptions of pyzfinder."""


class ZFinderError(Exception):
    """Base class of all exceptions of pyzfinder."""


class ConfigError(ZFinderError, ValueError):
    """An option, a configuration or a detector is invalid."""


class InputError(ZFinderError, ValueError):
    """Columns, offsets, RoIs or the content of a file are invalid."""


class InputTypeError(InputError, TypeError):
    """A column has a type that is not a number."""


class FileError(ZFinderError, OSError):
    """A file cannot be opened, read or written."""


class EngineError(ZFinderError, RuntimeError):
    """A GPU, its driver or another engine failed, or there is no such adapter."""
