"""Configurations and detectors."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _pyzfinder
from ._errors import ConfigError, FileError, InputError
from ._html import table
from ._keys import Keys

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keys import KeyOptions

#: Names of the built-in detectors.
DETECTORS = tuple(_pyzfinder.detectors())


@contextlib.contextmanager
def quiet_drivers() -> Iterator[None]:
    """Keep a line of Mesa about XDG_RUNTIME_DIR from standard error while adapters are opened.

    Mesa looks for a Wayland display, which is not needed, in a folder that this variable names.
    """
    name = "XDG_RUNTIME_DIR"
    before = os.environ.get(name)
    if sys.platform != "linux" or (before is not None and os.path.isabs(before)):
        yield
        return
    os.environ[name] = "/nonexistent"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def presets() -> dict[str, str]:
    """Return all presets.

    Returns
    -------
    dict of str to str
        Name and use of each preset.

    Examples
    --------
    >>> import pyzfinder
    >>> "hard-scatter" in pyzfinder.presets()
    True
    """
    return dict(_pyzfinder.presets())


def keys() -> list[dict[str, str]]:
    """Return the keys of a configuration.

    Returns
    -------
    list of dict
        Name, group, type, values with their unit, and meaning of each key.

    Examples
    --------
    >>> import pyzfinder
    >>> {key["name"]: key["values"] for key in pyzfinder.keys()}["triplet_dz_mm"]
    '0 to 1000000 mm'
    """
    return _pyzfinder.keys()


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from error


class Config(Keys, Mapping[str, Any]):
    """A configuration of the search.

    A configuration is an immutable mapping from keys to values. The keys are the keys of the
    configuration files of the command ``zfinder``; ``zfinder find --print-config`` shows them. Keys
    are attributes, too; the attribute of an absent key is None.

    Parameters
    ----------
    preset : str
        Name of the preset to start from; see `presets`. The key ``preset`` has this name.
    **keys
        Keys to change.

    Raises
    ------
    ConfigError
        If there is no such preset, no such key, or if a value is out of range.

    Examples
    --------
    >>> from pyzfinder import Config
    >>> config = Config("hard-scatter", peaks=2)
    >>> config["peaks"], config.pair_weight
    (2, 'pt')
    >>> config.replace(peaks=5).peaks
    5
    """

    __slots__ = ("_json", "_keys")

    def __init__(self, preset: str = "auto", **keys: Unpack[KeyOptions]) -> None:
        self._set(_pyzfinder.config_json(preset, _to_json(keys)))

    def _set(self, text: str) -> None:
        self._json = text
        self._keys = json.loads(text)

    @classmethod
    def _of_json(cls, text: str) -> Config:
        config = cls.__new__(cls)
        config._set(text)
        return config

    @classmethod
    def from_toml(cls, text: str) -> Config:
        """Read a configuration from TOML.

        Absent keys have the values of the preset that the key ``preset`` names, else of ``auto``.

        Parameters
        ----------
        text : str
            TOML text.

        Returns
        -------
        Config

        Raises
        ------
        ConfigError
            If the text is not TOML, has an unknown key, or a value that is out of range.
        """
        return cls._of_json(_pyzfinder.config_from_toml(text))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Config:
        """Read a configuration from a TOML file, as ``zfinder find --config`` does.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Config
        """
        return cls.from_toml(_read_text(path))

    @classmethod
    def coerce(cls, value: Config | Mapping[str, Any] | str | os.PathLike[str]) -> Config:
        """Return a configuration from a preset's name, a dictionary, or the path of a TOML file.

        A dictionary and a TOML file may name their preset with the key ``preset``; ``auto`` by
        default.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            keys = dict(value)
            return cls(keys.pop("preset", "auto"), **keys)
        if isinstance(value, os.PathLike) or str(value).endswith(".toml"):
            return cls.read(value)
        return cls(value)

    def replace(self, **keys: Unpack[KeyOptions]) -> Config:
        """Return a configuration with some keys changed."""
        return type(self)(**{**self._keys, **keys})

    def to_toml(self) -> str:
        """Return the configuration as TOML, with every key."""
        return _pyzfinder.config_to_toml(self._json)

    def __getitem__(self, key: str) -> Any:
        return self._keys[key]

    if not TYPE_CHECKING:  # so that a misspelt key is an error

        def __getattr__(self, name: str) -> Any:
            if name not in Keys.__annotations__:
                raise AttributeError(f"a configuration has no key {name}")
            return self._keys.get(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *Keys.__annotations__]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._json)

    def __reduce__(self) -> tuple:
        return type(self)._of_json, (self._json,)

    def _changed(self) -> dict[str, Any]:
        base = json.loads(_pyzfinder.config_json(self["preset"], "{}"))
        return {key: value for key, value in self._keys.items() if base.get(key) != value}

    def __repr__(self) -> str:
        changed = (f"{key}={value!r}" for key, value in self._changed().items())
        return f"Config({', '.join([repr(self['preset']), *changed])})"

    def _repr_html_(self) -> str:
        changed = self._changed()
        rows = []
        for key in keys():
            name = key["name"]
            value = self._keys.get(name, "none")
            value = ("b", value) if name in changed else value
            rows.append((("code", name), value, key["values"], key["meaning"]))
        return table(("key", "value", "values", "meaning"), rows)


def _to_json(keys: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        raise ConfigError(f"a configuration holds numbers, words and pairs, not {value!r}")

    # An absent key is null in JSON and missing in TOML.
    return json.dumps(dict(keys), default=plain)


class Detector:
    """The layers of a tracker.

    Parameters
    ----------
    source : str or path-like
        Name of a built-in detector (``atlas2010``, ``generic``, ``odd``), path of a TOML file, or
        TOML text.

    Raises
    ------
    ConfigError
        If there is no such detector, or if a detector contradicts itself.

    Examples
    --------
    >>> from pyzfinder import Detector
    >>> detector = Detector("generic")
    >>> detector.name, len(detector.layers)
    ('generic', 29)
    """

    __slots__ = ("_core", "_layers", "_toml", "name")

    #: Name of the detector.
    name: str

    def __init__(self, source: str | os.PathLike[str]) -> None:
        what, text = "detector", source
        if not isinstance(source, str) or (source not in DETECTORS and "\n" not in source):
            if (
                isinstance(source, str)
                and not source.endswith(".toml")
                and not os.path.exists(source)
            ):
                raise ConfigError(
                    f"there is no detector `{source}`: give {', '.join(DETECTORS)} or a TOML file"
                )
            what, text = os.fspath(source), _read_text(source)
        self._core = _pyzfinder.DetectorCore(what, text)
        self.name = self._core.name
        self._toml = self._core.to_toml()
        self._layers: list[dict[str, Any]] | None = None

    @property
    def layers(self) -> list[dict[str, Any]]:
        """The layers, each a dictionary.

        Keys are kind, sizes and resolution in mm, sensor, thickness in radiation lengths, ``next``
        and the ids (volume, layer) in files. ``next`` has the layers that may follow on a tracklet
        from the range of z of the preset ``auto``.
        """
        if self._layers is None:
            self._layers = self._core.layers()
        return self._layers

    def to_toml(self) -> str:
        """Return the detector as TOML."""
        return self._toml

    def layer_of(self, volume_id: Any, layer_id: Any) -> np.ndarray:
        """Return the index of the layer of each spacepoint.

        Parameters
        ----------
        volume_id, layer_id : array-like of int
            Volume and layer of each spacepoint, as files of TrackML and ACTS have them.

        Returns
        -------
        numpy.ndarray of uint8
            255 where the detector has no such layer.

        Examples
        --------
        >>> from pyzfinder import Detector
        >>> Detector("generic").layer_of([8, 8, 99], [2, 4, 2]).tolist()
        [0, 1, 255]
        """
        volume_id, layer_id = (np.asarray(ids, dtype=np.uint64) for ids in (volume_id, layer_id))
        if volume_id.shape != layer_id.shape:
            raise InputError(f"{volume_id.size} volumes and {layer_id.size} layers are given")
        return self._core.layer_of(volume_id, layer_id)

    def layer_of_geometry(self, geometry_id: Any) -> np.ndarray:
        """Return the index of the layer of each spacepoint.

        Parameters
        ----------
        geometry_id : array-like of int
            Geometry identifiers of ACTS. The volume is in bits 56 to 63, the layer in 36 to 47.

        Returns
        -------
        numpy.ndarray of uint8
            255 where the detector has no such layer.

        Examples
        --------
        >>> from pyzfinder import Detector
        >>> Detector("generic").layer_of_geometry([8 << 56 | 4 << 36 | 17 << 8, 0]).tolist()
        [1, 255]
        """
        return self._core.layer_of_geometry(np.asarray(geometry_id, dtype=np.uint64))

    def layer_at(self, rho: Any, z: Any, tolerance_mm: float = 10.0) -> np.ndarray:
        """Return the index of the layer on which each point lies.

        Parameters
        ----------
        rho, z : array-like of float
            Distance from the z axis and z of each point [mm].
        tolerance_mm : float
            Largest distance from the barrel in rho, or from the disk in z [mm].

        Returns
        -------
        numpy.ndarray of uint8
            255 where there is no layer.

        Examples
        --------
        >>> from pyzfinder import Detector
        >>> Detector("generic").layer_at([33.4, 172.0, 50.0], [-120.0, 1498.0, 0.0]).tolist()
        [0, 16, 255]
        """
        rho, z = (np.asarray(column, dtype=np.float64) for column in (rho, z))
        if rho.shape != z.shape:
            raise InputError(f"{rho.size} values of rho and {z.size} of z are given")
        return self._core.layer_at(rho, z, tolerance_mm)

    def __eq__(self, other: object) -> bool:
        return self._toml == other._toml if isinstance(other, Detector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._toml)

    def __reduce__(self) -> tuple:
        return type(self), (self._toml,)

    def __repr__(self) -> str:
        return f"<Detector {self.name}, {len(self.layers)} layers>"


def adapters() -> list[dict[str, Any]]:
    """Return the adapters (GPUs) of this machine, as ``zfinder adapters`` lists them.

    Returns
    -------
    list of dict
        Index, name, kind, backend, driver and abilities of each adapter.
    """
    with quiet_drivers():
        return _pyzfinder.adapters()
