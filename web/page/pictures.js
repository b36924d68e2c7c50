// The two pictures: the event along the beam above the z histogram, and the event across the beam.
import { Frame, Picture } from './picture.js';

const LINE = (colour) =>
  `<path d="M1 6h20" stroke="var(--${colour})" stroke-width="2"/>`;
const DOT = '<rect x="9" y="4" width="4" height="4" fill="var(--point)"/>';
const PAIR =
  '<path d="M1 11L20 2" stroke="var(--found)"/><circle cx="20" cy="2" r="2" fill="var(--found)"/>';
const FOUND = '<circle cx="11" cy="6" r="4" fill="var(--found)"/>';
const TRUE = '<path d="M5 6L11 1L17 6L11 11Z" fill="none" stroke="var(--true)" stroke-width="2"/>';
const FONT = '600 12px system-ui, sans-serif';
/** The inset shows at least this distance to both sides of the vertex [mm]. */
const INSET_MM = 2.5;
/** An inset of this width has room for numbers [pixels]. */
const ROOM = 190;
/** Points outside the frame by less than this are drawn [pixels]. */
const EDGE = 2;

const rhoOf = (points, i) => Math.hypot(points[i], points[i + 1]);
const at = (offset) => (points, i) => points[i + offset];
export const axes = { x: at(0), y: at(1), z: at(2), rho: rhoOf };

/** How much of each step of the animation is drawn, from 0 to 1. */
export const COMPLETE = { hits: 1, pairs: 1, bins: 1, peak: 1 };

/** Returns half widths of a range that contains all spacepoints. */
export function extent(points, across, up) {
  let [x, y] = [1, 1];
  for (let i = 0; i < points.length; i += 4) {
    x = Math.max(x, Math.abs(across(points, i)));
    y = Math.max(y, Math.abs(up(points, i)));
  }
  return [1.05 * x, 1.05 * y];
}

/** Draws a vertical line from `top` to `bottom`, which are parts of the height. */
function vertical(context, frame, z, [top, bottom]) {
  context.beginPath();
  context.moveTo(frame.x(z), frame.top + top * frame.height);
  context.lineTo(frame.x(z), frame.top + bottom * frame.height);
  context.stroke();
}

/** Draws a line at each found vertex. The first vertex stands out. */
function foundLines(context, frame, palette, { vertices, step }) {
  context.lineWidth = 1.5;
  context.strokeStyle = palette.found;
  vertices.forEach((vertex, number) => {
    context.globalAlpha = step.peak * (number === 0 ? 1 : 0.45);
    vertical(context, frame, vertex.z_mm, [0, 1]);
  });
  context.globalAlpha = 1;
}

/** Draws a dashed line at true vertices. It ends at half height, so that a found line shows, too. */
function trueLines(context, frame, palette, truth, step) {
  context.lineWidth = 2;
  context.strokeStyle = palette.true;
  context.setLineDash([5, 3]);
  context.globalAlpha = step.peak;
  for (const vertex of truth) vertical(context, frame, vertex.z_mm, [0.5, 1]);
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** Draws the beam, a disc at each found vertex, and a diamond around the true hard scatter. */
function beamMarks(context, frame, palette, { vertices, compared, step }) {
  const beam = frame.y(0);
  context.strokeStyle = palette.quiet;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(frame.left, beam);
  context.lineTo(frame.right, beam);
  context.stroke();
  context.globalAlpha = step.peak;
  context.fillStyle = palette.found;
  // The first vertex comes last, on top.
  for (const [number, vertex] of [...vertices.entries()].reverse()) {
    context.beginPath();
    context.arc(frame.x(vertex.z_mm), beam, number === 0 ? 5 : 3, 0, 2 * Math.PI);
    context.fill();
  }
  if (compared) {
    const [x, size] = [frame.x(compared.z_mm), 10];
    context.strokeStyle = palette.true;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - size, beam);
    context.lineTo(x, beam - size);
    context.lineTo(x + size, beam);
    context.lineTo(x, beam + size);
    context.closePath();
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Draws numbers of the found vertices that have room, best first. */
function vertexNumbers(context, frame, palette, { vertices, step }) {
  context.fillStyle = palette.found;
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  context.globalAlpha = step.peak;
  const taken = [];
  vertices.forEach((vertex, number) => {
    const x = frame.x(vertex.z_mm) + 4;
    if (taken.some((other) => Math.abs(other - x) < 18)) return;
    taken.push(x);
    context.fillText(String(number), x, frame.top + 4);
  });
  context.globalAlpha = 1;
}

/** Draws short marks at all true collisions. */
function trueMarks(context, frame, palette, { truth, step }) {
  context.strokeStyle = palette.true;
  context.lineWidth = 1.5;
  context.globalAlpha = step.peak;
  context.beginPath();
  for (const vertex of truth) {
    context.moveTo(frame.x(vertex.z_mm), frame.bottom - 8);
    context.lineTo(frame.x(vertex.z_mm), frame.bottom);
  }
  context.stroke();
  context.globalAlpha = 1;
}

/** Returns the first visible bin, and the bin after the last visible one. */
function bins(view, low, bin, count) {
  const clamp = (n) => Math.min(Math.max(n, 0), count);
  return [clamp(Math.floor((view.x0 - low) / bin)), clamp(Math.ceil((view.x1 - low) / bin))];
}

function highest({ low, bin, weights }, view) {
  const [first, last] = bins(view, low, bin, weights.length);
  let most = 1;
  for (let i = first; i < last; i += 1) most = Math.max(most, weights[i]);
  return most;
}

/** Draws bins as steps. Of many bins at one pixel it draws the highest. */
function steps(context, frame, palette, { low, bin, weights }, grown, alpha = 1) {
  const [first, last] = bins(frame.view, low, bin, weights.length);
  if (first >= last) return;
  const group = Math.max(1, Math.floor((last - first) / (2 * frame.width)));
  context.beginPath();
  context.moveTo(frame.x(low + first * bin), frame.bottom);
  let right = frame.x(low + first * bin);
  for (let i = first; i < last; i += group) {
    const end = Math.min(i + group, last);
    let most = 0;
    for (let j = i; j < end; j += 1) most = Math.max(most, weights[j]);
    const y = frame.bottom - (frame.bottom - frame.y(most)) * grown;
    context.lineTo(right, y);
    right = frame.x(low + end * bin);
    context.lineTo(right, y);
  }
  context.lineTo(right, frame.bottom);
  context.fillStyle = palette.fill;
  context.strokeStyle = palette.quiet;
  context.lineWidth = 1;
  context.globalAlpha = alpha;
  context.fill();
  context.stroke();
  context.globalAlpha = 1;
}

/** Draws the peak of the first vertex enlarged, with the true vertex nearest to it. */
function inset(context, frame, palette, data) {
  const { histogram, vertices, step } = data;
  const [first] = vertices;
  if (!first || histogram.weights.length === 0) return;
  const near = data.compared;
  const half = Math.max(INSET_MM, near ? 2 * Math.abs(near.z_mm - first.z_mm) : 0);
  // Zoomed in, the histogram itself shows the peak.
  if (frame.view.x1 - frame.view.x0 < 8 * half) return;
  const [width, height] = [Math.min(230, 0.4 * frame.width), 0.62 * frame.height];
  const isRight = frame.x(first.z_mm) < frame.left + frame.width / 2;
  const left = isRight ? frame.right - width - 8 : frame.left + 8;
  // The label of the axis is above.
  const top = frame.top + 38;
  const view = { x0: first.z_mm - half, x1: first.z_mm + half };
  const log = frame.log;
  const box = new Frame(
    { ...view, y0: log ? 0.5 : 0, y1: 1.1 * highest(histogram, view), log },
    { left, top, width, height },
  );
  context.globalAlpha = step.peak;
  context.beginPath();
  context.rect(left, top, width, height);
  context.fillStyle = palette.paper;
  context.fill();
  context.save();
  context.clip();
  foundLines(context, box, palette, { vertices: [first], step });
  steps(context, box, palette, histogram, 1, step.peak);
  trueLines(context, box, palette, near ? [near] : [], step);
  context.restore();
  context.globalAlpha = step.peak;
  context.beginPath();
  context.rect(left, top, width, height);
  context.strokeStyle = palette.quiet;
  context.lineWidth = 1;
  context.stroke();
  context.font = FONT;
  context.textBaseline = 'alphabetic';
  context.textAlign = isRight ? 'right' : 'left';
  const edge = isRight ? left + width : left;
  context.fillStyle = palette.ink;
  const span = `${(2 * half).toFixed(0)} mm`;
  context.fillText(width > ROOM ? `${span} about the peak` : span, edge, top - 6);
  // The sentence under the picture has the numbers as well.
  const label = (name, { z_mm }) => (width > ROOM ? `${name} ${z_mm.toFixed(2)}` : name);
  context.textAlign = 'left';
  context.fillStyle = palette.found;
  context.fillText(label('found', first), left + 5, top + 16);
  context.fillStyle = palette.true;
  if (near) context.fillText(label('true', near), left + 5, top + height - 8);
  context.globalAlpha = 1;
}

/** Returns the distance of two vertices in words. */
export function distance(a, b) {
  const mm = Math.abs(a.z_mm - b.z_mm);
  return mm < 0.0005 ? 'less than 0.001 mm' : `${mm.toFixed(3)} mm`;
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
  const position = `ρ ${rho.toFixed(2)} mm, φ ${phi.toFixed(4)} rad, z ${pz.toFixed(2)} mm`;
  return `spacepoint ${best / 4}: ${position}, layer ${layer}`;
}

function dots(context, frame, palette, { points, lines, step }, across, up) {
  const size = points.length > 40_000 ? 1.5 : 2.5;
  const { left, right, top, bottom } = frame;
  context.globalAlpha = step.hits * (points.length > 40_000 ? 0.55 : 0.85);
  context.fillStyle = palette.point;
  context.beginPath();
  for (let i = 0; i < points.length; i += 4) {
    const [x, y] = [frame.x(across(points, i)), frame.y(up(points, i))];
    if (x < left - EDGE || x > right + EDGE || y < top - EDGE || y > bottom + EDGE) continue;
    context.rect(x - size / 2, y - size / 2, size, size);
  }
  context.fill();
  // Spacepoints of the lines are larger.
  context.globalAlpha = step.pairs;
  context.fillStyle = palette.found;
  context.beginPath();
  for (const { hits } of lines) {
    for (const hit of hits)
      context.rect(
        frame.x(across(points, 4 * hit)) - 2,
        frame.y(up(points, 4 * hit)) - 2,
        4,
        4,
      );
  }
  context.fill();
  context.globalAlpha = 1;
}

/** Draws each line from its outermost spacepoint inwards. `path` returns its corners from there. */
function drawLines(context, palette, { lines, step }, path) {
  context.lineWidth = 1;
  for (const isFirst of [false, true]) {
    context.strokeStyle = isFirst ? palette.found : palette.quiet;
    context.globalAlpha = isFirst ? 0.6 : 0.35;
    context.beginPath();
    for (const line of lines) {
      if ((line.vertex === 0) !== isFirst) continue;
      const [outer, ...corners] = path(line);
      context.moveTo(...outer);
      for (const corner of corners) {
        const grown = outer.map((from, i) => from + (corner[i] - from) * step.pairs);
        context.lineTo(...grown);
      }
    }
    if (step.pairs > 0) context.stroke();
  }
  context.globalAlpha = 1;
}

function layersAlong(context, frame, palette, layers) {
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
}

const EMPTY = {
  points: new Float32Array(),
  layers: [],
  lines: [],
  vertices: [],
  truth: [],
  compared: null,
  histogram: { low: 0, bin: 1, weights: [] },
  step: COMPLETE,
};

/** The event along the beam, and the z histogram beneath it. */
export function eventPicture(section, buttons) {
  const picture = new Picture(section, {
    title: 'event and histogram',
    name: 'event',
    label: 'z [mm]',
    fromZero: true,
    buttons,
    legend: [
      [DOT, 'hits'],
      [PAIR, 'pairs'],
      [FOUND, 'found'],
      [TRUE, 'true'],
    ],
    panels: [
      {
        share: 0.58,
        label: 'ρ [mm]',
        draw(context, frame, palette) {
          const { data } = picture;
          layersAlong(context, frame, palette, data.layers);
          drawLines(context, palette, data, ({ z, hits }) => {
            const outer = 4 * hits.at(-1);
            const { points } = data;
            return [
              [frame.x(points[outer + 2]), frame.y(rhoOf(points, outer))],
              [frame.x(z), frame.y(0)],
            ];
          });
          dots(context, frame, palette, data, axes.z, axes.rho);
          beamMarks(context, frame, palette, data);
        },
        point: (frame, x, y) => nearest(picture.data.points, frame, x, y, axes.z, axes.rho),
      },
      {
        share: 0.42,
        label: 'weight per bin',
        rangeY(view) {
          const most = highest(picture.data.histogram, view);
          const log = Boolean(picture.log);
          return log ? { y0: 0.5, y1: 3 * most, log } : { y0: 0, y1: 1.2 * most };
        },
        draw(context, frame, palette) {
          const { data } = picture;
          // The lines come first, so that they do not hide peaks.
          foundLines(context, frame, palette, data);
          steps(context, frame, palette, data.histogram, data.step.bins);
          trueMarks(context, frame, palette, data);
          trueLines(context, frame, palette, data.compared ? [data.compared] : [], data.step);
          vertexNumbers(context, frame, palette, data);
          if (data.step.peak > 0) inset(context, frame, palette, data);
        },
        point(frame, x) {
          const { low, bin, weights } = picture.data.histogram;
          const number = Math.floor((frame.valueX(x) - low) / bin);
          if (!(number in weights)) return null;
          const edge = (n) => (low + n * bin).toFixed(2);
          return `z from ${edge(number)} to ${edge(number + 1)} mm: weight ${weights[number]}`;
        },
      },
    ],
  });
  picture.data = { ...EMPTY };
  return picture;
}

/** The event across the beam. */
export function acrossBeam(section) {
  const cross = '<path d="M6 6h10M11 1v10" stroke="var(--found)" stroke-width="2"/>';
  const picture = new Picture(section, {
    title: 'event across the beam',
    name: 'event-xy',
    label: 'x [mm]',
    equal: true,
    legend: [
      [DOT, 'hits'],
      [PAIR, 'pairs'],
      [cross, 'found vertex'],
      [LINE('layer'), 'barrel layers'],
    ],
    panels: [
      {
        share: 1,
        label: 'y [mm]',
        draw(context, frame, palette) {
          const { points, layers, vertices } = picture.data;
          context.strokeStyle = palette.layer;
          context.lineWidth = 1;
          for (const layer of layers.filter((layer) => layer.kind === 'barrel')) {
            const radius = Math.abs(frame.x(layer.radius_mm) - frame.x(0));
            context.beginPath();
            context.arc(frame.x(0), frame.y(0), radius, 0, 2 * Math.PI);
            context.stroke();
          }
          // A fitted vertex has a place of its own. All others lie on the beam, the origin.
          const place = ({ x_mm = 0, y_mm = 0 } = {}) => [frame.x(x_mm), frame.y(y_mm)];
          drawLines(context, palette, picture.data, ({ vertex, hits }) => [
            ...hits.map((hit) => [frame.x(points[4 * hit]), frame.y(points[4 * hit + 1])]).reverse(),
            place(vertices[vertex]),
          ]);
          dots(context, frame, palette, picture.data, axes.x, axes.y);
          context.strokeStyle = palette.found;
          context.lineWidth = 2;
          context.beginPath();
          for (const [x, y] of vertices.slice(0, 1).map(place)) {
            context.moveTo(x - 7, y);
            context.lineTo(x + 7, y);
            context.moveTo(x, y - 7);
            context.lineTo(x, y + 7);
          }
          context.stroke();
        },
        point: (frame, x, y) => nearest(picture.data.points, frame, x, y, axes.x, axes.y),
      },
    ],
  });
  picture.data = { ...EMPTY };
  return picture;
}
