/*
 * Preloaded into every process of the service by the soak, with --expose-gc: says on stderr which process it is and how
 * much heap is in use once what is no longer needed has been collected.
 */

setInterval(() => {
  globalThis.gc?.();
  process.stderr.write(`heap ${process.pid} ${process.memoryUsage().heapUsed}\n`);
}, Number(process.env.HEAP_PROBE_SECONDS) * 1000).unref();
