"""The finder: searches arrays of spacepoints for vertices."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from . import _pyzfinder
from ._config import DETECTORS, Config, Detector, quiet_drivers
from ._errors import ConfigError, EngineError, InputError
from ._histogram import Histogram
from ._html import table
from ._objects import Objects
from ._results import Results
from ._spacepoints import Spacepoints, spacepoints_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keys import KeyOptions

log = logging.getLogger("pyzfinder")

# Searches of `Finder.submit` at once on a GPU: their threads sleep while it works.
_SUBMITTED_TO_GPU = 64

# The process that opened a GPU. A GPU that was opened before a fork does not work after the fork.
_gpu_process: int | None = None


class Finder:
    """Finds primary vertices from spacepoints.

    A finder holds its options only. It opens the engine when it is used first, in each process, so
    that it can be pickled. All threads of a process can use one finder.

    Parameters
    ----------
    config : str, Config, dict or path-like
        Name of a preset, a configuration, changed keys, or a TOML file.
    detector : str, Detector or path-like
        Name of a built-in detector, a detector, or a TOML file. It must be given.
    engine : {"auto", "cpu", "gpu", "reference"}
        What computes. ``"auto"`` is a hardware GPU if there is one, else the CPU.
    adapter : int, str or list, optional
        GPU to use, by index, part of its name, or PCI id, as `adapters` lists them; ``"all"`` or a
        list for several GPUs.
    threads : int, optional
        Threads of the CPU engine. One for each core by default.
    precision : {"f32", "f64"}
        Number type on the GPU and on the CPU.
    accumulate : {"fixed", "compare-exchange"}
        How z is summed.
    encoding : {"lossless", "compact"}
        How spacepoints travel to a GPU.
    **keys
        Keys of the configuration to change, as ``peaks=2``; `keys` lists them.

    Raises
    ------
    ConfigError
        If an option is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from pyzfinder import Finder
    >>> rho, phi = np.tile([50.5, 88.5, 122.5], 4), np.repeat([0.1, 0.7, 1.5, 2.5], 3)
    >>> z = 12.5 + np.repeat([0.5, -0.3, 0.2, -1.0], 3) * rho
    >>> finder = Finder("auto", "atlas2010", engine="cpu")
    >>> results = finder.find(rho=rho, phi=phi, z=z, layer=np.tile([0, 1, 2], 4))
    >>> float(results.z_mm[0].round(1))
    12.5
    """

    def __init__(
        self,
        config: Config | Mapping[str, Any] | str | os.PathLike[str] = "auto",
        detector: Detector | str | os.PathLike[str] | None = None,
        engine: str = "auto",
        adapter: int | str | list[int | str] | None = None,
        threads: int | None = None,
        *,
        precision: str = "f32",
        accumulate: str = "fixed",
        encoding: str = "lossless",
        **keys: Unpack[KeyOptions],
    ) -> None:
        _pyzfinder.check_engine(engine)
        if threads is not None and (
            isinstance(threads, bool) or threads != int(threads) or threads < 1
        ):
            raise ConfigError(f"option `threads`: {threads!r} is not a number of threads")
        if detector is None:
            raise ConfigError(
                f"no detector is given: give {', '.join(DETECTORS)}, a Detector or a TOML file"
            )
        self.config = Config.coerce(config)
        if "preset" in keys:
            raise ConfigError("the preset is the first argument: Finder('jet', ...)")
        if keys:
            self.config = self.config.replace(**keys)
        self.detector = detector if isinstance(detector, Detector) else Detector(detector)
        self.engine = engine
        adapters = (
            [] if adapter is None else adapter if isinstance(adapter, (list, tuple)) else [adapter]
        )
        self.adapters = tuple(str(adapter) for adapter in adapters)
        if self.adapters and engine not in ("auto", "gpu"):
            raise ConfigError(f"option `adapter`: engine {engine} uses no adapter")
        self.threads = threads
        self._words = {"precision": precision, "accumulate": accumulate, "encoding": encoding}
        self._core: Any = None
        self._threads: ThreadPoolExecutor | None = None
        self._process: int | None = None
        self._lock = threading.Lock()

    def replace(self, **options: Any) -> Finder:
        """Return a finder with some options changed; it is not open.

        Parameters
        ----------
        **options
            Options of `Finder` by name.
        """
        mine: dict[str, Any] = {
            "config": self.config,
            "detector": self.detector,
            "engine": self.engine,
            "adapter": list(self.adapters) or None,
            "threads": self.threads,
            **self._words,
        }
        return type(self)(**{**mine, **options})

    def open(self) -> Finder:
        """Open the engine in this process, unless it is open, and return the finder.

        Raises
        ------
        EngineError
            If there is no such adapter, or if the engine fails.
        """
        self._open()
        return self

    def _open(self) -> Any:
        global _gpu_process
        process = os.getpid()
        if self._process == process:
            return self._core
        with self._lock:
            if self._process == process:
                return self._core
            if self.engine in ("auto", "gpu") and _gpu_process not in (None, process):
                raise EngineError(
                    "a GPU was opened before this process was forked: start processes with "
                    "multiprocessing's method spawn or forkserver"
                )
            with quiet_drivers():
                core = _pyzfinder.Core(
                    self.config._json,
                    self.detector.to_toml(),
                    engine=self.engine,
                    adapters=list(self.adapters),
                    threads=self.threads,
                    **self._words,
                )
            if not core.uses_host:
                _gpu_process = process
            self._core, self._threads, self._process = core, None, process
            return core

    @property
    def description(self) -> str:
        """The engine and its adapters."""
        return self._open().description

    @property
    def reproducibility(self) -> str:
        """The runs that have the same bits: cpu-to-gpu, run-to-run or not-guaranteed."""
        return self._open().reproducibility

    def find(
        self,
        x: Any = None,
        y: Any = None,
        z: Any = None,
        layer: Any = None,
        offsets: Any = None,
        rois: Any = None,
        *,
        rho: Any = None,
        phi: Any = None,
        objects: Any = None,
        calorimeter: tuple[float, float] | None = None,
    ) -> Results:
        """Find the vertices of every RoI.

        No other thread may write to the arrays meanwhile: numpy does not prevent that, and the
        behaviour is undefined.

        Parameters
        ----------
        x : array-like or table
            x of each spacepoint [mm]; or, alone, a table: an awkward array with the fields below,
            an object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, a dictionary, a
            DataFrame, a structured array, or `Spacepoints`.
        y, z : array-like
            y and z of each spacepoint [mm].
        layer : array-like of int
            Index of the detector layer of each spacepoint.
        offsets : array-like of int, optional
            RoI i has the spacepoints from ``offsets[i]`` up to ``offsets[i + 1]``. One RoI by
            default.
        rois : mapping or table, optional
            Columns with one element for each RoI: ``event_id``, ``roi_id``, ``phi_min``,
            ``phi_max`` [rad], ``eta``, ``z_min``, ``z_max`` [mm]; all are optional.
        rho, phi : array-like
            Distance from the z axis [mm] and azimuth [rad], in place of x and y.
        objects : mapping or table, optional
            Electrons, photons, muons and jets of the hard scatter. Each RoI is then a whole event,
            which is searched in the tubes from the beam line to its objects. Columns ``eta``,
            ``phi`` [rad] and ``et`` [GeV], and optionally ``kind`` (``electron``, ``photon``,
            ``muon`` or ``jet``; ``electron`` by default).
        calorimeter : (float, float), optional
            Radius of the barrel and abs(z) of the end-caps on which ``eta`` and ``phi`` of objects
            are measured [mm]. (1500, 3700) by default.

        Returns
        -------
        Results
            One answer for each RoI. What is wrong with the spacepoints of one RoI is its status.
            If the first spacepoints lie far from their layers, the logger ``pyzfinder`` warns, and
            names the detector or the unit of length that they fit.

        Raises
        ------
        InputError
            If the columns, the offsets or the RoIs are invalid, or if angles are in degrees.
        EngineError
            If the engine fails.

        Notes
        -----
        A table has a row for each RoI, with lists of coordinates, and optionally the columns of
        `rois`; or a row for each spacepoint, optionally with ``event_id`` and ``roi_id``. Chunks of
        a table, record batches and data sets are one table. The event number may have another usual
        name (``event``, ``eventNumber``, ``entry``) and may be the index of a DataFrame. In place
        of ``layer`` it may have ``geometry_id``, or ``volume_id`` and ``layer_id``.

        Columns rho, phi, z of float32 or of float64, contiguous, with layers of uint8, are searched
        where they are. Columns x, y, z, and columns of other types, are converted in one copy.
        Python's global interpreter lock is released during the search.

        `objects` are a table with a row for each object and ``event_id``; or columns with
        ``offsets``, where RoI i has the objects from ``offsets[i]`` up to ``offsets[i + 1]``; or an
        awkward array with a list of objects for each RoI. The objects of one RoI need neither. An
        event without objects, or with spacepoints on fewer than three layers along its objects, is
        searched whole.
        """
        spacepoints = self._spacepoints(x, y, z, layer, offsets, rois, rho, phi)
        if objects is None:
            if calorimeter is not None:
                raise ConfigError("option `calorimeter`: there are no objects")
            return self._find(spacepoints)
        return self._find(spacepoints, None, Objects(objects, calorimeter).of(spacepoints))

    def submit(self, *columns: Any, **named: Any) -> Future[Results]:
        """Start a search, and return its future.

        For programs with many events on their way: small ones go to a GPU together.

        Parameters
        ----------
        *columns, **named
            As for `find`. They must not change before the future is done.

        Returns
        -------
        concurrent.futures.Future
            The results, or the error of `find`.

        Examples
        --------
        >>> import pyzfinder
        >>> sample = pyzfinder.simulate(rois=4, detector="atlas2010").spacepoints
        >>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
        >>> futures = [finder.submit(event) for event in sample.partitions(1)]
        >>> [len(future.result()) for future in futures]
        [1, 1, 1, 1]
        """
        core = self._open()
        with self._lock:
            if self._threads is None:
                cores = self.threads or os.cpu_count() or 1
                count = cores if core.uses_host else _SUBMITTED_TO_GPU
                self._threads = ThreadPoolExecutor(count, "pyzfinder submit")
            threads = self._threads
        return threads.submit(self.find, *columns, **named)

    async def find_async(self, *columns: Any, **named: Any) -> Results:
        """Find the vertices of every RoI, for asyncio: other tasks run meanwhile.

        Parameters
        ----------
        *columns, **named
            As for `find`. They must not change before the call is done.

        Returns
        -------
        Results
            As of `find`.

        Examples
        --------
        >>> import asyncio
        >>> import pyzfinder
        >>> sample = pyzfinder.simulate(rois=4, detector="atlas2010").spacepoints
        >>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
        >>> async def all_events():
        ...     return await asyncio.gather(*map(finder.find_async, sample.partitions(1)))
        >>> [len(results) for results in asyncio.run(all_events())]
        [1, 1, 1, 1]
        """
        return await asyncio.wrap_future(self.submit(*columns, **named))

    def _find(self, spacepoints: Spacepoints, *arguments: Any) -> Results:
        core = self._open()
        results = Results(_call(core.find, spacepoints, *arguments))
        warning = core.take_warning()
        if warning is not None:
            log.warning("%s", warning)
        return results

    def _spacepoints(
        self,
        x: Any,
        y: Any,
        z: Any,
        layer: Any,
        offsets: Any,
        rois: Any,
        rho: Any = None,
        phi: Any = None,
        seen: Any = None,
    ) -> Spacepoints:
        is_cylindrical = rho is not None and phi is not None and x is None and y is None
        if is_cylindrical and z is not None and layer is not None:
            return Spacepoints((rho, phi, z), layer, offsets, rois)
        columns = {"x": x, "y": y, "z": z, "layer": layer, "rho": rho, "phi": phi}
        given = {name for name, column in columns.items() if column is not None}
        if given == {"x"}:
            if offsets is not None or rois is not None:
                raise InputError("a table has its own offsets and RoIs")
            return spacepoints_of(x, self.detector, seen)
        if given == {"x", "y", "z", "layer"}:
            return Spacepoints((x, y, z), layer, offsets, rois, is_cartesian=True)
        raise InputError(
            "x, y, z and layer, or rho, phi, z and layer, or one table are expected; given: "
            + (", ".join(sorted(given)) or "nothing")
        )

    def stream(self, batches: Iterable[Any], in_flight: int | None = None) -> Iterator[Results]:
        """Find the vertices of batches, several of them at once, and yield results in order.

        Parameters
        ----------
        batches : iterable
            Each element is a table as for `find`, a tuple of its arguments, or a dictionary of
            columns. All rows of an event must be in one batch: in tables with a row for each
            spacepoint, an event of an earlier batch is an error.
        in_flight : int, optional
            Batches that are searched at once. Each has a thread. By default 4 on the CPU; on a GPU
            twice as many as cores, 2 to 32, because a thread waits for the GPU most of the time.

        Yields
        ------
        Results
            The answers to a batch.

        Examples
        --------
        >>> import pyzfinder
        >>> sample = pyzfinder.simulate(rois=40, detector="atlas2010").spacepoints
        >>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
        >>> [len(results) for results in finder.stream(sample.partitions(16))]
        [16, 16, 8]
        """
        if in_flight is not None and in_flight < 1:
            raise ConfigError(f"option `in_flight`: {in_flight} must be 1 or more")
        core = self._open()
        if in_flight is None:
            in_flight = 4 if core.uses_host else min(2 * (os.cpu_count() or 1), 32)
        cancel, seen = _pyzfinder.Cancel(), _pyzfinder.SeenRois()

        def search(batch: Any, worker: int) -> Results:
            columns = batch if isinstance(batch, tuple) else (batch,)
            if len(columns) > 6:
                raise InputError(f"a batch of {len(columns)} columns; find takes 6 at most")
            x, y, z, layer, offsets, rois = (*columns, *(None,) * (6 - len(columns)))
            spacepoints = self._spacepoints(x, y, z, layer, offsets, rois, seen=seen)
            return self._find(spacepoints, cancel, None, worker)

        pending: deque[Future[Results]] = deque()
        with ThreadPoolExecutor(in_flight, "pyzfinder stream") as threads:
            try:
                for number, batch in enumerate(batches):
                    pending.append(threads.submit(search, batch, number))
                    if len(pending) >= in_flight:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                # Batches in flight end with their current part.
                cancel.cancel()
                for future in pending:
                    future.cancel()

    def histogram(
        self,
        x: Any = None,
        y: Any = None,
        z: Any = None,
        layer: Any = None,
        offsets: Any = None,
        rois: Any = None,
        *,
        rho: Any = None,
        phi: Any = None,
        roi: int | None = None,
    ) -> Histogram:
        """Return the histogram of z of one RoI, which the reference engine fills.

        Parameters
        ----------
        x, y, z, layer, offsets, rois, rho, phi
            As for `find`.
        roi : int, optional
            Index of the RoI. It may be absent if there is one RoI.

        Returns
        -------
        Histogram

        Raises
        ------
        InputError
            If the RoI has no histogram because of its spacepoints.
        """
        spacepoints = self._spacepoints(x, y, z, layer, offsets, rois, rho, phi)
        if roi is None and len(spacepoints) != 1:
            raise InputError(f"there are {len(spacepoints)} RoIs: choose one with roi=")
        index = roi or 0
        if not 0 <= index < len(spacepoints):
            raise InputError(f"there is no RoI {roi}")
        found, columns = _call(self._open().histogram, spacepoints, index)
        result = Results(found)[0]
        if columns is None:
            raise InputError(f"RoI {index} has no histogram: {result.status}")
        metadata = {
            "event_id": result.event_id,
            "roi_id": result.roi_id,
            "status": result.status,
            "spacepoints": result.spacepoints,
            "histograms": columns["histograms"],
        }
        if columns["background"] is not None:
            metadata["background"] = columns["background"]
        return Histogram(columns, metadata)

    def _options(self) -> tuple:
        words = tuple(self._words.values())
        return (self.config, self.detector, self.engine, self.adapters, self.threads, words)

    def __eq__(self, other: object) -> bool:
        return self._options() == other._options() if isinstance(other, Finder) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._options())

    def __reduce__(self) -> tuple:
        return _unpickle, self._options()

    def _engine(self) -> str:
        return f"engine {self.engine}, not open" if self._core is None else self._core.description

    def __repr__(self) -> str:
        return f"<Finder: {self._engine()}; detector {self.detector.name}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, Any]] = [
            ("engine", self._engine()),
            ("detector", self.detector.name),
            ("preset", self.config["preset"]),
        ]
        changed = self.config._changed().items()
        rows += [(("code", key), ("b", value)) for key, value in changed]
        return table(("option", "value"), rows)


def _unpickle(
    config: Config,
    detector: Detector,
    engine: str,
    adapters: tuple,
    threads: int | None,
    words: tuple,
) -> Finder:
    precision, accumulate, encoding = words
    return Finder(
        config,
        detector,
        engine,
        list(adapters) or None,
        threads,
        precision=precision,
        accumulate=accumulate,
        encoding=encoding,
    )


def _call(method: Any, part: Spacepoints, *arguments: Any) -> Any:
    return method(part.is_cartesian, part.columns, part.layer, part.offsets, part.rois, *arguments)
