// Lines of the pictures: pairs of spacepoints that meet at a vertex, or fitted tracklets.

/** At most so many lines are drawn, shared by the vertices. */
const MOST_LINES = 160;
/** Every vertex may have so many lines. */
const LEAST_SHARE = 6;
/** A peak is three bins wide. */
const HALF_PEAK_BINS = 1.5;

/** Returns a function that accepts lines until their vertex has its share. */
function share(vertices) {
  const most = Math.max(LEAST_SHARE, Math.floor(MOST_LINES / Math.max(1, vertices.length)));
  const counts = vertices.map(() => 0);
  return ({ vertex }) => {
    counts[vertex] += 1;
    return counts[vertex] <= most;
  };
}

/** Returns the index of the first value that is not below `wanted`. */
function lowerBound(values, wanted) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns columns of all spacepoints, sorted by azimuth. */
function byAzimuth(points) {
  const count = points.length / 4;
  const azimuths = Float64Array.from({ length: count }, (_, hit) =>
    Math.atan2(points[4 * hit + 1], points[4 * hit]),
  );
  const hit = Uint32Array.from({ length: count }, (_, n) => n);
  hit.sort((a, b) => azimuths[a] - azimuths[b]);
  return {
    hit,
    phi: Float64Array.from(hit, (n) => azimuths[n]),
    rho: Float64Array.from(hit, (n) => Math.hypot(points[4 * n], points[4 * n + 1])),
    z: Float64Array.from(hit, (n) => points[4 * n + 2]),
    layer: Uint8Array.from(hit, (n) => points[4 * n + 3]),
  };
}

/**
 * Returns pairs whose line meets the beam in the peak of a vertex. Both spacepoints lie at most one
 * slice apart in azimuth, the inner one on one of the first layers. The pairs that bend least come
 * first, and a spacepoint is in one pair only, so that the picture stays clear.
 *
 * @returns lists of {vertex, z, hits}; `z` is the position on the beam in mm
 */
export function pairsAtVertices(points, vertices, { bin, slice_deg, first_layers }) {
  const { hit, phi, rho, z, layer } = byAzimuth(points);
  const filled = [...new Set(layer)].sort((a, b) => a - b);
  const inner = new Set(filled.slice(0, first_layers));
  const reach = (slice_deg * Math.PI) / 180;
  const places = vertices.map(({ z_mm }) => z_mm);
  const half = HALF_PEAK_BINS * bin;
  const candidates = [];
  for (let a = 0; a < hit.length; a += 1) {
    if (!inner.has(layer[a])) continue;
    for (const turn of [-2 * Math.PI, 0, 2 * Math.PI]) {
      const centre = phi[a] + turn;
      for (let b = lowerBound(phi, centre - reach); phi[b] <= centre + reach; b += 1) {
        if (layer[b] <= layer[a] || rho[b] <= rho[a]) continue;
        const meets = (z[a] * rho[b] - z[b] * rho[a]) / (rho[b] - rho[a]);
        const vertex = places.findIndex((place) => Math.abs(place - meets) <= half);
        if (vertex < 0) continue;
        const bend = Math.abs(phi[b] - centre) / (rho[b] - rho[a]);
        candidates.push({ vertex, z: meets, hits: [hit[a], hit[b]], bend });
      }
    }
  }
  candidates.sort((a, b) => a.bend - b.bend);
  const used = new Set();
  const separate = candidates.filter(({ hits: pair }) => {
    if (pair.some((hit) => used.has(hit))) return false;
    pair.forEach((hit) => used.add(hit));
    return true;
  });
  return separate.filter(share(vertices));
}

/** Returns the tracklets with a vertex, in the form of the pairs. */
export function trackletsAtVertices(tracklets, vertices) {
  return tracklets
    .filter(({ vertex }) => vertex !== null)
    .filter(share(vertices))
    .map(({ vertex, z0_mm, hits }) => ({ vertex, z: z0_mm, hits }));
}
