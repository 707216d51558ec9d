import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { typeErrors } from '../support/documents/manifests.ts';
import { projectFile } from '../support/service-process.ts';

/* Whether Grafana would show deploy/grafana-dashboard.json as it is meant. prometheus.full.ts runs its queries. */

const dashboard = JSON.parse(await readFile(projectFile('deploy/grafana-dashboard.json'), 'utf8'));

test('has only fields that Grafana knows', async () => {
  const type = `import('@grafana/schema').Dashboard`;
  expect(await typeErrors([{ type, value: dashboard }])).toBe('');
  const [panel] = dashboard.panels;
  const misspelt = { ...dashboard, panels: [{ ...panel, gridPosition: panel.gridPos }] };
  expect(await typeErrors([{ type, value: misspelt }])).toContain(`'"gridPosition"' does not exist in type`);
});

test('has panels with numbers and places of their own', () => {
  const { panels }: { panels: { id: number; gridPos: object }[] } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size).toBe(panels.length);
});
