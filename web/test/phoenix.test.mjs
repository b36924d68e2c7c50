// Events for Phoenix: tracklets as tracks from the beam through their spacepoints.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { phoenix } from '../page/save.js';

test('a tracklet is a track through its spacepoints', () => {
  const tracklet = {
    vertex: 0,
    hits: [0, 2],
    z0_mm: 5,
    cot_theta: 0,
    phi0: Math.PI / 2,
    curvature: 1e-4,
    d0_mm: 0.5,
    pt_gev: 2,
    chi2: 1.5,
  };
  const points = new Float32Array([1, 30, 20, 0, 9, 9, 9, 0, 4, 90, 50, 2]);
  const event = { eventId: 3n, points, vertices: [{ z_mm: 5 }], truth: [] };
  const { Tracks, Hits, Vertices } = JSON.parse(phoenix({ ...event, tracklets: [tracklet] }))['event 3'];
  const [track] = Tracks.Tracklets;
  const [beam, ...hits] = track.pos;
  assert.deepEqual(hits, [
    [1, 30, 20],
    [4, 90, 50],
  ]);
  assert.ok(Math.abs(beam[0] - 0.5) < 1e-12 && Math.abs(beam[1]) < 1e-12 && beam[2] === 5);
  const [d0, z0, phi, theta, qop] = track.dparams;
  assert.deepEqual([d0, z0, phi, theta, qop], [-0.5, 5, Math.PI / 2, Math.PI / 2, -1 / 2000]);
  assert.equal(track.chi2, 1.5);
  assert.equal(Hits.Spacepoints.length, 3);
  assert.equal(Vertices.zfinder.length, 1);
  // Phoenix ignores what follows an empty collection.
  assert.equal(JSON.parse(phoenix(event))['event 3'].Tracks, undefined);
});
