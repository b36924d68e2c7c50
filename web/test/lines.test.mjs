// Lines of the pictures: pairs that meet at a vertex.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pairsAtVertices, trackletsAtVertices } from '../page/lines.js';

/** Returns x, y, z and layer of a straight track through layers at 30, 60 and 90 mm. */
const track = (z, slope, phi) =>
  [30, 60, 90].flatMap((rho, layer) => [
    rho * Math.cos(phi),
    rho * Math.sin(phi),
    z + slope * rho,
    layer,
  ]);
const OPTIONS = { bin: 0.4, slice_deg: 1, first_layers: 2 };

test('pairs of tracks from a vertex are found, once a spacepoint, also across ±180°', () => {
  const points = Float32Array.from([
    ...track(10, 0.5, 0.3),
    // The outer spacepoint of this track is on the other side of ±180°.
    ...track(10, -1, Math.PI - 0.001).slice(0, 4),
    ...track(10, -1, Math.PI + 0.001).slice(4, 8),
    ...track(-40, 0.2, 2),
  ]);
  const pairs = pairsAtVertices(points, [{ z_mm: 10 }], OPTIONS);
  const hits = pairs.flatMap((pair) => pair.hits);
  assert.equal(new Set(hits).size, hits.length);
  assert.ok(hits.every((hit) => hit < 5));
  assert.ok(pairs.some((pair) => pair.hits.includes(4)), 'the pair across ±180°');
  for (const { z, vertex } of pairs) assert.ok(Math.abs(z - 10) < 0.01 && vertex === 0);
  assert.equal(pairsAtVertices(points, [{ z_mm: 12 }], OPTIONS).length, 0);
});

test('lines are few, and each vertex has some', () => {
  const all = [];
  for (let i = 0; i < 500; i += 1) all.push(...track(10, 0.5, -3 + i * 0.012));
  for (let i = 0; i < 20; i += 1) all.push(...track(-40, 0.5, -3 + i * 0.3 + 0.006));
  const pairs = pairsAtVertices(Float32Array.from(all), [{ z_mm: 10 }, { z_mm: -40 }], OPTIONS);
  const of = (vertex) => pairs.filter((pair) => pair.vertex === vertex).length;
  assert.equal(of(0), 80);
  assert.equal(of(1), 20);
});

test('tracklets without a vertex have no line', () => {
  const tracklets = [
    { vertex: 0, z0_mm: 1, hits: [0, 1, 2] },
    { vertex: null, z0_mm: 5, hits: [3, 4, 5] },
  ];
  assert.deepEqual(trackletsAtVertices(tracklets, [{ z_mm: 1 }]), [
    { vertex: 0, z: 1, hits: [0, 1, 2] },
  ]);
});
