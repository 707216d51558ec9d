/*
 * Preloaded into the service by the soak, with --expose-gc: says on stderr how much heap is in use after a full
 * collection.
 */

setInterval(() => {
  globalThis.gc?.();
  process.stderr.write(`heap ${process.memoryUsage().heapUsed}\n`);
}, Number(process.env.HEAP_PROBE_SECONDS) * 1000).unref();
