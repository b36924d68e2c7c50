// Built-in samples: files of data/ in the repository, and events that the page simulates. Each has
// its own detector. `id` names the sample in the address of the page.
export const SAMPLES = [
  {
    id: 'zee',
    name: 'Z → ee',
    detail: '3 events at 7 TeV, 2 other collisions on average.',
    detector: 'generic',
    folder: 'samples/zee7_mu2/',
    files: [
      'event000000000-spacepoint.csv.gz',
      'event000000001-spacepoint.csv.gz',
      'event000000002-spacepoint.csv.gz',
      'truth_vertices.csv',
    ],
    input: 'data/zee7_mu2/event00000000[012]-spacepoint.csv.gz',
  },
  {
    id: 'top',
    name: 'Top pair',
    detail: '1 event at 14 TeV among 46 other collisions, 25,172 hits.',
    detector: 'generic',
    folder: 'samples/tt14_mu46/',
    files: ['event000000002-spacepoint.csv.gz', 'truth_vertices.csv'],
    input: 'data/tt14_mu46',
  },
  {
    id: 'quiet',
    name: 'Simulated, quiet',
    detail: 'A new event with each click, about 3 collisions, made here.',
    simulation: { detector: 'generic', events: 1, pileUp: 2 },
  },
  {
    id: 'busy',
    name: 'Simulated, busy',
    detail: 'A new event with each click, about 120 collisions, made here.',
    simulation: { detector: 'atlas2010', events: 1, pileUp: 120 },
  },
];

/** Fetches the files of a sample. */
export async function filesOf(sample) {
  const read = async (name) => {
    const response = await fetch(new URL(sample.folder + name, import.meta.url));
    if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
    return { name, bytes: await response.arrayBuffer() };
  };
  return Promise.all(sample.files.map(read));
}
