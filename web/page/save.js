/** Saves a text or a blob as a file of the user. */
export function save(name, content, type = 'text/plain') {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * Returns a tracklet as a track of Phoenix: from the beam through its spacepoints. Lengths are in
 * mm. q/p is in 1/MeV, with the sign in a field along +z.
 */
function track(tracklet, points) {
  const { d0_mm, z0_mm, phi0, cot_theta, pt_gev, curvature } = tracklet;
  const theta = Math.atan2(1, cot_theta);
  const momentum = 1000 * pt_gev * Math.hypot(1, cot_theta);
  return {
    chi2: tracklet.chi2,
    // Phoenix counts d0 the other way.
    dparams: [-d0_mm, z0_mm, phi0, theta, -Math.sign(curvature) / momentum],
    pos: [
      [d0_mm * Math.sin(phi0), -d0_mm * Math.cos(phi0), z0_mm],
      ...tracklet.hits.map((hit) => Array.from(points.slice(4 * hit, 4 * hit + 3))),
    ],
    color: tracklet.vertex === null ? '#999999' : '#009e73',
  };
}

/** Returns an event in the JSON of Phoenix. Lengths are in mm. */
export function phoenix({ eventId, points, vertices, truth, tracklets = [] }) {
  const hits = [];
  for (let i = 0; i < points.length; i += 4) hits.push([points[i], points[i + 1], points[i + 2]]);
  const at = (z, color) => ({ x: 0, y: 0, z, color });
  const event = {
    'event number': Number(eventId),
    'run number': 0,
    Hits: { Spacepoints: hits },
    Vertices: {},
  };
  // Phoenix ignores all collections after an empty one.
  if (vertices.length > 0)
    event.Vertices.zfinder = vertices.map((vertex) => at(vertex.z_mm, '#d55e00'));
  if (truth.length > 0) event.Vertices.Truth = truth.map((vertex) => at(vertex.z_mm, '#0072b2'));
  if (tracklets.length > 0)
    event.Tracks = { Tracklets: tracklets.map((tracklet) => track(tracklet, points)) };
  return JSON.stringify({ [`event ${eventId}`]: event });
}
