/**
 * Joins the metrics of several processes into one page, in which the label `worker` says whose each sample is. They are
 * not summed: a sum of rates or a maximum is up to the query, and one process in trouble would not show.
 *
 * @param pages by the value of the label, in Prometheus's text format: an empty line between metrics, each of which
 * begins with HELP and TYPE
 */
export function workersMetrics(pages: ReadonlyMap<string, string>): string {
  // The format wants all samples of a metric together.
  const samplesOf = new Map<string, string[]>();
  for (const [worker, page] of pages) {
    for (const metric of page.trimEnd().split('\n\n')) {
      const [help, type, ...samples] = metric.split('\n');
      const head = `${help}\n${type}`;
      const labelled = samples.map((sample) => withLabel(sample, worker));
      samplesOf.set(head, [...(samplesOf.get(head) ?? []), ...labelled]);
    }
  }
  return `${[...samplesOf].map(([head, samples]) => [head, ...samples].join('\n')).join('\n\n')}\n`;
}

function withLabel(sample: string, worker: string): string {
  return sample.replace(/^(\w+)(\{?)/, (_, name, brace) => `${name}{worker="${worker}"${brace === '' ? '}' : ','}`);
}
