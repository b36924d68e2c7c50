// The answer to an RoI, in words and as a table.
import { distance } from './pictures.js';

/** Returns a number and its noun: `1 RoI`, `2,000 RoIs`. */
export const count = (number, what) =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;

/** Returns the true vertex that is nearest to a found vertex, or null if the list is empty. */
function nearestOf(truth, vertex) {
  const apart = ({ z_mm }) => Math.abs(z_mm - vertex.z_mm);
  return truth.reduce((best, next) => (best && apart(best) <= apart(next) ? best : next), null);
}

/** Returns the nearest true hard scatter, or without one the nearest true vertex. */
export function nearestTrue(vertex, truth) {
  const hard = truth.filter(({ is_hard_scatter }) => is_hard_scatter);
  return nearestOf(hard.length > 0 ? hard : truth, vertex);
}

/** A vertex is right within this distance, as in `zfinder evaluate`. */
const RIGHT_MM = 1;

/** Returns the answer in words. */
export function sentence({ status, vertices }, compared) {
  if (vertices.length === 0) return WORDS[status] ?? status;
  const [first] = vertices;
  const z = first.z_mm.toFixed(3);
  const more = vertices.length > 1 ? ` (first of ${vertices.length})` : '';
  if (!compared) return `Found z = ${z} mm${more}. The true z is unknown.`;
  const apart = distance(first, compared);
  const right = vertices.findIndex(({ z_mm }) => Math.abs(z_mm - compared.z_mm) < RIGHT_MM);
  const other = right > 0 ? ` Vertex ${right} is the true one.` : '';
  return `Found z = ${z} mm${more}, true z = ${compared.z_mm.toFixed(3)} mm: ${apart} apart.${other}`;
}

const WORDS = {
  ok: 'Vertices were found.',
  empty: 'There is no spacepoint in the window of this RoI.',
  no_peak: 'There are spacepoints, and no peak among their pairs.',
  bad_spacepoint: 'A spacepoint is not finite, or lies on a layer that the detector does not have.',
  capacity_exceeded: 'There is more than the engine can hold: wider slices or bins may do.',
};

/** Returns what the search says of an RoI. */
export function summary({ status, fallback, outside_window }) {
  const fallen = fallback ? ' By the second search, since the first found no peak.' : '';
  const unused = count(outside_window, 'spacepoint');
  const outside =
    outside_window > 0
      ? ` ${unused} outside the window or beyond the last layer took no part.`
      : '';
  return `${WORDS[status] ?? status}${fallen}${outside}`;
}

/** Fills a table with vertices. */
export function showVertices(table, vertices, truth) {
  const row = (vertex, number) => {
    const line = document.createElement('tr');
    const near = nearestOf(truth, vertex);
    const nearest = near
      ? `${near.z_mm.toFixed(3)}${near.is_hard_scatter ? ' (hard scatter)' : ''}`
      : '–';
    const significance = vertex.significance === null ? '–' : vertex.significance.toFixed(1);
    const cells = [
      number,
      vertex.z_mm.toFixed(3),
      vertex.z_error_mm.toFixed(3),
      nearest,
      Math.round(vertex.weight),
      vertex.pairs,
      significance,
    ];
    for (const [place, text] of cells.entries()) {
      const cell = document.createElement(place === 0 ? 'th' : 'td');
      if (place === 0) cell.scope = 'row';
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  };
  table.replaceChildren(...vertices.map(row));
}
