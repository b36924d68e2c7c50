/** Saves a text or a blob as a file of the user. */
export function save(name, content, type = 'text/plain') {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Returns an event in the JSON of Phoenix. Lengths are in mm. */
export function phoenix({ eventId, points, vertices, truth }) {
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
  return JSON.stringify({ [`event ${eventId}`]: event });
}
