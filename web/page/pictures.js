// The three pictures: the histogram of z, and the event along and across the beam.
import { Picture } from './picture.js';

const LINE = (colour, dash = '') =>
  `<path d="M1 6h20" stroke="var(--${colour})" stroke-width="2" stroke-dasharray="${dash}"/>`;
const DOT = '<rect x="9" y="4" width="4" height="4" fill="var(--point)"/>';
const AREA = '<path d="M1 11V6h6V2h7v6h7v3z" fill="var(--fill)" stroke="var(--quiet)"/>';

/** Draws a vertical line at each vertex. */
function vertexLines(context, frame, palette, { vertices, truth }) {
  const vertical = (z) => {
    context.moveTo(frame.x(z), frame.top);
    context.lineTo(frame.x(z), frame.top + frame.height);
  };
  context.lineWidth = 1.5;
  for (const vertex of truth) {
    context.strokeStyle = palette.true;
    context.setLineDash([6, 4]);
    context.beginPath();
    if (vertex.is_hard_scatter) vertical(vertex.z_mm);
    context.stroke();
    // Short marks at the bottom show all collisions.
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(frame.x(vertex.z_mm), frame.top + frame.height - 8);
    context.lineTo(frame.x(vertex.z_mm), frame.top + frame.height);
    context.stroke();
  }
  context.strokeStyle = palette.found;
  context.fillStyle = palette.found;
  context.font = '600 12px system-ui, sans-serif';
  context.textAlign = 'left';
  context.textBaseline = 'top';
  vertices.forEach((vertex, number) => {
    context.beginPath();
    vertical(vertex.z_mm);
    context.stroke();
    context.fillText(String(number), frame.x(vertex.z_mm) + 4, frame.top + 20 + 14 * (number % 3));
  });
}

const VERTEX_LEGEND = [
  [LINE('found'), 'found vertices, by number'],
  [LINE('true', '6 4'), 'true hard scatter'],
  [`<path d="M11 2v9" stroke="var(--true)" stroke-width="2"/>`, 'true collisions (bottom)'],
];

export function histogramPicture(section) {
  const picture = new Picture(section, {
    title: 'histogram of z',
    name: 'histogram',
    labels: ['z / mm', 'weight per bin'],
    onlyX: true,
    legend: [[AREA, 'weights of pairs'], ...VERTEX_LEGEND],
    rangeY(view) {
      const { low, bin, weights } = this.data.histogram;
      const [first, last] = bins(view, low, bin, weights.length);
      let most = 1;
      for (let i = first; i < last; i += 1) most = Math.max(most, weights[i]);
      return { y0: 0, y1: 1.15 * most };
    },
    draw(context, frame, palette) {
      // The lines come first, so that they do not hide peaks.
      vertexLines(context, frame, palette, this.data);
      steps(context, frame, palette, this.data.histogram);
    },
    point(frame, x) {
      const { low, bin, weights } = this.data.histogram;
      const number = Math.floor((frame.valueX(x) - low) / bin);
      if (!(number in weights)) return null;
      const edge = (n) => (low + n * bin).toFixed(2);
      return `z from ${edge(number)} to ${edge(number + 1)} mm: weight ${weights[number]}`;
    },
  });
  picture.data = { histogram: { low: 0, bin: 1, weights: [] }, vertices: [], truth: [] };
  return picture;
}

/** Returns the first visible bin, and the bin after the last visible one. */
function bins(view, low, bin, count) {
  const clamp = (n) => Math.min(Math.max(n, 0), count);
  return [clamp(Math.floor((view.x0 - low) / bin)), clamp(Math.ceil((view.x1 - low) / bin))];
}

/** Draws bins as steps. Of many bins at one pixel it draws the highest. */
function steps(context, frame, palette, { low, bin, weights }) {
  const [first, last] = bins(frame.view, low, bin, weights.length);
  if (first >= last) return;
  const group = Math.max(1, Math.floor((last - first) / (2 * frame.width)));
  context.beginPath();
  context.moveTo(frame.x(low + first * bin), frame.y(0));
  let right = frame.x(low + first * bin);
  for (let i = first; i < last; i += group) {
    const end = Math.min(i + group, last);
    let most = 0;
    for (let j = i; j < end; j += 1) most = Math.max(most, weights[j]);
    context.lineTo(right, frame.y(most));
    right = frame.x(low + end * bin);
    context.lineTo(right, frame.y(most));
  }
  context.lineTo(right, frame.y(0));
  context.fillStyle = palette.fill;
  context.strokeStyle = palette.quiet;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.fill();
  context.stroke();
}

/** Returns a text about the spacepoint that is nearest to a pixel. */
function nearest(points, frame, x, y, across, up) {
  let [best, least] = [-1, 100];
  for (let i = 0; i < points.length; i += 4) {
    const apart = (frame.x(across(points, i)) - x) ** 2 + (frame.y(up(points, i)) - y) ** 2;
    if (apart < least) [best, least] = [i, apart];
  }
  if (best < 0) return null;
  const [px, py, pz, layer] = points.subarray(best, best + 4);
  const rho = Math.hypot(px, py);
  const phi = Math.atan2(py, px);
  const position = `rho ${rho.toFixed(2)} mm, phi ${phi.toFixed(4)} rad, z ${pz.toFixed(2)} mm`;
  return `spacepoint ${best / 4}: ${position}, layer ${layer}`;
}

function dots(context, frame, palette, points, across, up) {
  const size = points.length > 40_000 ? 1.5 : 2.5;
  context.globalAlpha = points.length > 40_000 ? 0.55 : 0.85;
  context.fillStyle = palette.point;
  context.beginPath();
  for (let i = 0; i < points.length; i += 4)
    context.rect(
      frame.x(across(points, i)) - size / 2,
      frame.y(up(points, i)) - size / 2,
      size,
      size,
    );
  context.fill();
  context.globalAlpha = 1;
}

const rhoOf = (points, i) => Math.hypot(points[i], points[i + 1]);
const at = (offset) => (points, i) => points[i + offset];

export function alongBeam(section) {
  const picture = new Picture(section, {
    title: 'event along the beam',
    name: 'event-rz',
    labels: ['z / mm', 'rho / mm'],
    legend: [[DOT, 'spacepoints'], [LINE('layer'), 'layers'], ...VERTEX_LEGEND.slice(0, 2)],
    draw(context, frame, palette) {
      const { points, layers } = this.data;
      context.strokeStyle = palette.layer;
      context.lineWidth = 1;
      context.beginPath();
      for (const layer of layers) {
        if (layer.kind === 'barrel') {
          context.moveTo(frame.x(-layer.half_length_mm), frame.y(layer.radius_mm));
          context.lineTo(frame.x(layer.half_length_mm), frame.y(layer.radius_mm));
        } else {
          for (const z of [-layer.z_mm, layer.z_mm]) {
            context.moveTo(frame.x(z), frame.y(0));
            context.lineTo(frame.x(z), frame.y(layer.r_max_mm));
          }
        }
      }
      context.stroke();
      dots(context, frame, palette, points, at(2), rhoOf);
      vertexLines(context, frame, palette, {
        ...this.data,
        truth: this.data.truth.filter((vertex) => vertex.is_hard_scatter),
      });
    },
    point(frame, x, y) {
      return nearest(this.data.points, frame, x, y, at(2), rhoOf);
    },
  });
  picture.data = { points: new Float32Array(), layers: [], vertices: [], truth: [] };
  return picture;
}

export function acrossBeam(section) {
  const picture = new Picture(section, {
    title: 'event across the beam',
    name: 'event-xy',
    labels: ['x / mm', 'y / mm'],
    equal: true,
    legend: [
      [DOT, 'spacepoints'],
      [LINE('layer'), 'barrel layers'],
    ],
    draw(context, frame, palette) {
      const { points, layers } = this.data;
      context.strokeStyle = palette.layer;
      context.lineWidth = 1;
      for (const layer of layers.filter((layer) => layer.kind === 'barrel')) {
        context.beginPath();
        context.arc(
          frame.x(0),
          frame.y(0),
          Math.abs(frame.x(layer.radius_mm) - frame.x(0)),
          0,
          2 * Math.PI,
        );
        context.stroke();
      }
      dots(context, frame, palette, points, at(0), at(1));
    },
    point(frame, x, y) {
      return nearest(this.data.points, frame, x, y, at(0), at(1));
    },
  });
  picture.data = { points: new Float32Array(), layers: [] };
  return picture;
}

/** Returns half widths of a range that contains all spacepoints. */
export function extent(points, across, up) {
  let [x, y] = [1, 1];
  for (let i = 0; i < points.length; i += 4) {
    x = Math.max(x, Math.abs(across(points, i)));
    y = Math.max(y, Math.abs(up(points, i)));
  }
  return [1.05 * x, 1.05 * y];
}

export const axes = { x: at(0), y: at(1), z: at(2), rho: rhoOf };
