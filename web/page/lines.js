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

/** Returns azimuth, radius and layer of all spacepoints, sorted by azimuth. */
function byAzimuth(points) {
  const all = [];
  for (let i = 0; i < points.length; i += 4) {
    const [x, y, z, layer] = points.subarray(i, i + 4);
    all.push({ hit: i / 4, phi: Math.atan2(y, x), rho: Math.hypot(x, y), z, layer });
  }
  return all.sort((a, b) => a.phi - b.phi);
}

/**
 * Returns pairs whose line meets the beam in the peak of a vertex. Both spacepoints lie at most one
 * slice apart in azimuth, the inner one on one of the first layers. The pairs that bend least come
 * first, and a spacepoint is in one pair only, so that the picture stays clear.
 *
 * @returns lists of {vertex, z, hits}; `z` is the position on the beam in mm
 */
export function pairsAtVertices(points, vertices, { bin, slice_deg, first_layers }) {
  const hits = byAzimuth(points);
  const azimuths = hits.map(({ phi }) => phi);
  const filled = [...new Set(hits.map(({ layer }) => layer))].sort((a, b) => a - b);
  const inner = new Set(filled.slice(0, first_layers));
  const reach = (slice_deg * Math.PI) / 180;
  const candidates = [];
  for (const a of hits) {
    if (!inner.has(a.layer)) continue;
    for (const turn of [-2 * Math.PI, 0, 2 * Math.PI]) {
      const phi = a.phi + turn;
      for (let n = lowerBound(azimuths, phi - reach); azimuths[n] <= phi + reach; n += 1) {
        const b = hits[n];
        if (b.layer <= a.layer || b.rho <= a.rho) continue;
        const z = (a.z * b.rho - b.z * a.rho) / (b.rho - a.rho);
        const vertex = vertices.findIndex(({ z_mm }) => Math.abs(z_mm - z) <= HALF_PEAK_BINS * bin);
        if (vertex < 0) continue;
        const bend = Math.abs(azimuths[n] - phi) / (b.rho - a.rho);
        candidates.push({ vertex, z, hits: [a.hit, b.hit], bend });
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
