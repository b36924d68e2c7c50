"""The compiled part of pyzfinder. Its functions take columns that the Python modules checked."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

_Columns = dict[str, Any]
_Floats = NDArray[np.float32] | NDArray[np.float64]
_Coordinates = tuple[_Floats, _Floats, _Floats]

class Cancel:
    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...

class Core:
    def __new__(
        cls,
        config: str,
        detector: str,
        *,
        engine: str,
        adapters: list[str],
        threads: int | None,
        precision: str,
        accumulate: str,
        encoding: str,
    ) -> Core: ...
    @property
    def description(self) -> str: ...
    @property
    def reproducibility(self) -> str: ...
    @property
    def uses_host(self) -> bool: ...
    def take_warning(self) -> str | None: ...
    def find(
        self,
        is_cartesian: bool,
        coordinates: _Coordinates,
        layer: NDArray[Any],
        offsets: NDArray[np.int64],
        rois: dict[str, NDArray[Any]],
        cancel: Cancel | None = None,
        objects: _Columns | None = None,
        worker: int | None = None,
    ) -> _Columns: ...
    def histogram(
        self,
        is_cartesian: bool,
        coordinates: _Coordinates,
        layer: NDArray[Any],
        offsets: NDArray[np.int64],
        rois: dict[str, NDArray[Any]],
        index: int,
    ) -> tuple[_Columns, _Columns | None]: ...

class Reader:
    def __new__(
        cls,
        paths: list[str],
        detector: str,
        rois: str | None,
        on_error: str,
        max_spacepoints: int | None,
        shard: tuple[int, int],
        tree: str | None,
    ) -> Reader: ...
    def next(self, max_rois: int) -> _Columns | None: ...
    def take_warnings(self) -> list[str]: ...

class ArrowBuffer: ...

class SeenRois:
    def __new__(cls) -> SeenRois: ...
    def insert(
        self, event_id: NDArray[np.uint64], roi_id: NDArray[np.uint64] | None
    ) -> tuple[int, int] | None: ...

def adapters() -> list[dict[str, Any]]: ...
def command(arguments: list[str]) -> int: ...
def config_from_toml(text: str) -> str: ...
def config_json(preset: str, changes: str) -> str: ...
def config_to_toml(json: str) -> str: ...
def detector(what: str, text: str) -> tuple[str, str]: ...
def detector_layers(toml: str) -> list[dict[str, Any]]: ...
def digest(columns: _Columns) -> str: ...
def empty_results() -> _Columns: ...
def event_column(names: list[str]) -> str | None: ...
def evaluate(
    results: _Columns,
    offsets: NDArray[np.int64],
    z_mm: NDArray[np.float64],
    is_hard_scatter: NDArray[np.bool_],
    within_mm: float,
    isolation_mm: float,
    by: str | None,
    bins: int | None,
) -> tuple[list[dict[str, Any]], int]: ...
def export_results(columns: _Columns) -> object: ...
def import_arrow(object: object, wanted: list[str]) -> list[_Columns]: ...
def object_kinds() -> list[str]: ...
def presets() -> list[str]: ...
def detectors() -> list[str]: ...
def check_engine(engine: str) -> None: ...
def read_truth(
    path: str | os.PathLike[str],
    event_id: NDArray[np.uint64],
    roi_id: NDArray[np.uint64],
    tree: str | None,
) -> _Columns: ...
def simulate(
    sample: str, rois: int | None, seed: int, detector: str, full_scan: bool, knobs: dict[str, Any]
) -> tuple[_Columns, _Columns]: ...
def write_parquet(columns: _Columns, path: str | os.PathLike[str]) -> None: ...
