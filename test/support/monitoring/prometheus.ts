import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { projectFile } from '../service-process.ts';

/* What Prometheus would make of a page of metrics and of the queries on it. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

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
