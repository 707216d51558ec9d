import { type HeapProfiler, Session } from 'node:inspector/promises';

/*
 * Preloaded into a server by bench/allocation.ts. At SIGUSR2 it begins to sample what is allocated, and at the next one
 * it says on stderr how many bytes each function has allocated since, whether they are still in use or not.
 */

/** Bytes between two samples on average. */
const SAMPLING_INTERVAL = 4_096;

const session = new Session();
session.connect();
let isSampling = false;

process.on('SIGUSR2', async () => {
  if (isSampling) {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    const bytes = new Map<string, number>();
    addTo(bytes, profile.head);
    process.stderr.write(`allocated ${JSON.stringify([...bytes])}\n`);
  } else {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLING_INTERVAL,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    process.stderr.write('sampling\n');
  }
  isSampling = !isSampling;
});

function addTo(
  bytes: Map<string, number>,
  { callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode,
): void {
  const { functionName, url, lineNumber } = callFrame;
  const place = `${functionName || '(anonymous)'} ${url.replace(/^.*\/(?=(?:src|bench|node_modules)\/)/, '')}:${lineNumber + 1}`;
  bytes.set(place, (bytes.get(place) ?? 0) + selfSize);
  for (const child of children) addTo(bytes, child);
}
