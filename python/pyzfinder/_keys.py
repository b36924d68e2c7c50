"""The keys of a configuration, written by tests/test_keys.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class Keys:
    """The keys of `Config` as attributes, which are read-only."""

    __slots__ = ()

    #: Preset from which the other keys start.
    preset: Literal[
        "auto",
        "hard-scatter",
        "all-vertices",
        "default",
        "full-scan",
        "beam-spot",
        "bphysics",
        "jet",
        "egamma",
        "muon",
        "tau",
        "high-pileup",
        "high-multiplicity",
        "thesis",
    ]
    #: Most vertices for an RoI, highest peak first (1 to 1024).
    peaks: int
    #: Slices of phi that a pair may reach into.
    neighbours: Literal["single", "bending"]
    #: Weight of a pair.
    pair_weight: Literal["one", "any", "count", "pt"]
    #: Order in which peaks are taken.
    ranking: Literal["entries", "directions"]
    #: Estimate of z from a peak.
    z_estimate: Literal["mean", "densest"]
    #: Window in phi of an RoI for which none is given.
    phi_window: Literal["full-scan", "spacepoints"]
    #: Beam position (x, y) at z = 0 (two numbers, -1000 to 1000 mm).
    beam_spot_mm: list[float]
    #: Slope of the beam, dx/dz and dy/dz (two numbers, -1 to 1).
    beam_spot_tilt: list[float]
    #: Standard deviation of vertices in x and y about the beam (0 to 1000 mm).
    beam_width_mm: float
    #: How z is extrapolated to the beam.
    extrapolation: Literal["linear", "accurate"]
    #: Last layer that takes part, by number or by sensor.
    max_layer: int | Literal["all", "pixel", "short-strip", "long-strip"]
    #: Number of filled layers, from the innermost, that may hold the inner spacepoint of a pair (1
    #: and above).
    first_layers: int
    #: Second search of an RoI without a peak.
    fallback: Literal["none", "full-scan"]
    #: Width of a bin of z at eta = 0 (0.001 to 10000 mm).
    z_bin_mm: float
    #: Increase of the width of a bin with |eta| of the RoI (0 to 1000 mm).
    z_bin_eta_coeff: float
    #: Lower end of the range of z (-100000 to 100000 mm).
    z_min_mm: float
    #: Upper end of the range of z (-100000 to 100000 mm).
    z_max_mm: float
    #: A histogram of pairs that bend up, and one of pairs that bend down.
    charge_aware: bool
    #: A histogram for each slice, of the pairs whose track may come from there.
    histogram_per_slice: bool
    #: Most pairs of an RoI: spacepoints of different layers in slices within reach (1 to
    #: 1000000000000000000).
    max_pairs: float
    #: Most triplets of an RoI: its pairs, with each third spacepoint within reach (1 to
    #: 1000000000000000000).
    max_triplets: float
    #: Distance within which a peak is mixed into a vertex that was found before (0 to 1048576
    #: bins).
    vertex_separation_bins: float
    #: Distance, as a fraction of its |z|, within which a peak is mixed into an earlier vertex (0 to
    #: 1000000).
    vertex_distance_cut: float
    #: Share of a mixed peak in the vertex's z and weight; 0 drops the peak (0 to 1).
    vertex_mixing: float
    #: Definition of a vertex's significance.
    significance: Literal["poisson", "gaussian"]
    #: Least significance of a vertex (0 to 1000000000 sigma).
    min_significance: float
    #: Fraction of all windows of three bins, the lowest, whose mean is the background (0 to 1).
    percentile: float
    #: Between peaks of equal height, take the one nearest to the middle of the range.
    prefer_central: bool
    #: Width of a slice of phi (0.01 to 360 deg).
    phi_slice_deg: float
    #: In full scan, let the slices at +pi and -pi be neighbours.
    wrap_full_scan: bool
    #: Factor on the bending (0 to 1000).
    neighbour_multiplier: float
    #: Largest number of neighbour slices (1 and above).
    neighbour_max: int | None
    #: Transverse momentum of the track whose bending sets the neighbour slices (0.05 to 10000 GeV).
    bending_pt_gev: float
    #: Solenoid field (0 to 100 T).
    field_t: float
    #: Change of the bending with eta in the end-caps (-1 to 0 rad).
    dphi_deta: float
    #: Largest difference of the two z extrapolations (0 to 1000000 mm).
    triplet_dz_mm: float
    #: Largest difference of the two curvatures (0 to 1000000 rad/mm).
    triplet_dk: float
    #: Limit of the difference of the two azimuths at the beam line (0 to 1000000 rad).
    triplet_dp: float
    #: All vertices, found from tracklets, in place of the highest peaks of the histogram.
    all_vertices: bool
    #: Tracklets that are returned with the vertices.
    tracklets: Literal["off", "window", "all"]
    #: Least transverse momentum of a tracklet (0.05 to 1000 GeV).
    tracklet_pt_gev: float
    #: Least significance of a vertex of tracklets (0 to 1000000000 sigma).
    tracklet_significance: float


class KeyOptions(TypedDict, total=False):
    """The keys of `Config` but its preset, as keyword arguments."""

    peaks: int
    neighbours: Literal["single", "bending"]
    pair_weight: Literal["one", "any", "count", "pt"]
    ranking: Literal["entries", "directions"]
    z_estimate: Literal["mean", "densest"]
    phi_window: Literal["full-scan", "spacepoints"]
    beam_spot_mm: list[float]
    beam_spot_tilt: list[float]
    beam_width_mm: float
    extrapolation: Literal["linear", "accurate"]
    max_layer: int | Literal["all", "pixel", "short-strip", "long-strip"]
    first_layers: int
    fallback: Literal["none", "full-scan"]
    z_bin_mm: float
    z_bin_eta_coeff: float
    z_min_mm: float
    z_max_mm: float
    charge_aware: bool
    histogram_per_slice: bool
    max_pairs: float
    max_triplets: float
    vertex_separation_bins: float
    vertex_distance_cut: float
    vertex_mixing: float
    significance: Literal["poisson", "gaussian"]
    min_significance: float
    percentile: float
    prefer_central: bool
    phi_slice_deg: float
    wrap_full_scan: bool
    neighbour_multiplier: float
    neighbour_max: int | None
    bending_pt_gev: float
    field_t: float
    dphi_deta: float
    triplet_dz_mm: float
    triplet_dk: float
    triplet_dp: float
    all_vertices: bool
    tracklets: Literal["off", "window", "all"]
    tracklet_pt_gev: float
    tracklet_significance: float
