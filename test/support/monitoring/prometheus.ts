import { readFile } from 'node:fs/promises';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { projectFile } from '../service-process.ts';

/* What Prometheus would make of a page of metrics and of the queries on it. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What deploy/prometheus.yaml and deploy/kubernetes/pod-monitor.yaml set. */
const OUR_JOB = 'job="plant-store"';

/** Reads Prometheus's text format, as far as label values without quotes in them go. */
export function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (value === undefined) throw new Error(`no sample: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text]);
    return { name, labels: Object.fromEntries(pairs), value: Number(value) };
  });
}

/** The value of the one sample with this name and these labels, 0 if there is none. */
export function sampleValue(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  if (found.length > 1) throw new Error(`${name} is ambiguous`);
  return found[0]?.value ?? 0;
}

/**
 * What would make this PromQL query fail or find the wrong samples: its syntax, metrics that there are not, labels that
 * they do not have, or that it counts other services of the same Prometheus.
 */
export function mistakesIn(query: string, samples: readonly Sample[]): string[] {
  const text = (node: { from: number; to: number }) => query.slice(node.from, node.to);
  const mistakes: string[] = [];
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(query).iterate({
    enter(node) {
      if (node.type.isError) mistakes.push(`syntax at ${node.from}`);
      if (node.name === 'Identifier') metrics.push(text(node));
      if (node.name === 'VectorSelector' && !text(node).includes(OUR_JOB))
        mistakes.push(`no ${OUR_JOB}: ${text(node)}`);
      if (node.name === 'LabelName') labels.push(text(node));
    },
  });
  if (metrics.length === 0) mistakes.push('no metric');
  const known = samples.filter(({ name }) => metrics.includes(name));
  for (const metric of metrics) {
    if (!known.some(({ name }) => name === metric)) mistakes.push(`unknown metric ${metric}`);
  }
  // Prometheus adds this one.
  for (const label of labels.filter((label) => label !== 'job')) {
    if (!known.some((sample) => label in sample.labels)) mistakes.push(`unknown label ${label}`);
  }
  return mistakes;
}

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** @param interval what Grafana would make of its `$__rate_interval`: at least four scrapes */
export async function dashboardQueries(interval = '1m') {
  const dashboard = await readFile(projectFile('deploy/grafana-dashboard.json'), 'utf8');
  const { panels }: { panels: Panel[] } = JSON.parse(dashboard.replaceAll('$__rate_interval', interval));
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr: query, legendFormat: legend }) => ({ title, query, legend })),
  );
}

export async function alertRules(): Promise<readonly { readonly alert: string; readonly expr: string }[]> {
  const { groups } = parse(await readFile(projectFile('deploy/prometheus-rules.yaml'), 'utf8'));
  return groups.flatMap((group: { rules: unknown[] }) => group.rules);
}

/** Every query of the dashboard and of the alerts, by where it stands. */
export async function queries(): Promise<(readonly [where: string, query: string])[]> {
  const ofPanels = (await dashboardQueries()).map(({ title, query }) => [title, query] as const);
  return [...ofPanels, ...(await alertRules()).map(({ alert, expr }) => [alert, expr] as const)];
}
