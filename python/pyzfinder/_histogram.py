"""The histogram of z in which the search looks for peaks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _pyzfinder


class _Traits(NamedTuple):
    circular: bool = False
    discrete: bool = False


class Axis:
    """The z axis of a histogram: bins of equal width."""

    __slots__ = ("_edges",)

    #: Properties of the axis in the protocol of plottable histograms.
    traits = _Traits()
    #: Label of the axis.
    label = "z [mm]"
    #: Name of the axis.
    name = "z"

    def __init__(self, edges: np.ndarray) -> None:
        self._edges = edges

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, index: int) -> tuple[float, float]:
        """Return the lower and the upper edge of a bin [mm]."""
        index = range(len(self))[index]
        return float(self._edges[index]), float(self._edges[index + 1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return np.array_equal(self._edges, other._edges)

    __hash__ = None  # type: ignore[assignment]

    @property
    def edges(self) -> np.ndarray:
        """Edges of the bins [mm]."""
        return self._edges

    @property
    def centers(self) -> np.ndarray:
        """Centres of the bins [mm]."""
        return 0.5 * (self._edges[1:] + self._edges[:-1])


class Histogram:
    """The weights of the pairs of spacepoints, by the z at which a pair meets the beam line.

    The reference engine fills the histogram. `mplhep` and other tools plot it as it is;
    ``hist.Hist(histogram)`` and ``boost_histogram.Histogram(histogram._to_uhi_())`` convert it.

    Attributes
    ----------
    weights : numpy.ndarray of uint64
        Weights of the entries of each bin.
    z_sums_mm : numpy.ndarray of float64
        Sum of weight times z of each bin [mm].
    pairs : numpy.ndarray of uint64
        Pairs of each bin.
    axes : tuple of Axis
        The z axis.
    metadata : dict
        Event, RoI, status, number of spacepoints, and background.
    """

    __slots__ = ("_bounds", "axes", "metadata", "pairs", "weights", "z_sums_mm")

    #: Kind of the histogram in the protocol of plottable histograms.
    kind = "COUNT"

    def __init__(self, columns: dict[str, Any], metadata: dict[str, Any]) -> None:
        # To a femtometre: a product of binary fractions leaves more digits.
        low, high = (round(columns[name], 12) for name in ("low_mm", "high_mm"))
        self.weights: np.ndarray = columns["weights"]
        self.z_sums_mm: np.ndarray = columns["z_sums_mm"]
        self.pairs: np.ndarray = columns["pairs"]
        self._bounds = (low, high)
        self.axes = (Axis(np.linspace(low, high, len(self.weights) + 1)),)
        self.metadata = metadata

    def values(self) -> np.ndarray:
        """Return the weights."""
        return self.weights.astype(np.float64)

    def variances(self) -> np.ndarray:
        """Return the variances of Poisson counts, which are the weights."""
        return self.values()

    def counts(self) -> np.ndarray:
        """Return the effective number of entries, which is the weight."""
        return self.values()

    def _to_uhi_(self) -> dict[str, Any]:
        """Return the histogram in the serialisation schema 1 of UHI."""
        low, high = self._bounds
        return {
            "uhi_schema": 1,
            "writer_info": {"pyzfinder": {"version": _pyzfinder.__version__}},
            "metadata": self.metadata,
            "axes": [
                {
                    "type": "regular",
                    "lower": low,
                    "upper": high,
                    "bins": len(self.weights),
                    "underflow": False,
                    "overflow": False,
                    "circular": False,
                    "metadata": {"name": "z", "label": "z [mm]"},
                }
            ],
            "storage": {"type": "double", "values": self.values()},
        }

    def __repr__(self) -> str:
        low, high = self._bounds
        return f"<Histogram of z: {len(self.weights)} bins from {low} to {high} mm>"
