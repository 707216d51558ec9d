import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { checkSchema, type Manifest, readManifests, unknownFields } from '../support/documents/manifests.ts';
import { codeBlocks } from '../support/documents/markdown.ts';
import { alertRules, queries } from '../support/monitoring/prometheus.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* How the Prometheus Operator finds the service and its alerts. */

const { only } = await readManifests();
const deployment = only('Deployment');

test('the PodMonitor gives its pods the job that the alerts and the dashboard select', async () => {
  const { jobLabel = '', selector } = only('PodMonitor').spec;
  expect(selector).toEqual(deployment.spec?.selector);
  const { scrape_configs } = parse(await readFile(projectFile('deploy/prometheus.yaml'), 'utf8'));
  const [{ job_name }] = scrape_configs;
  expect(deployment.spec?.template.metadata?.labels?.[jobLabel]).toBe(job_name);
  for (const [where, query] of await queries())
    expect([where, query]).toEqual([where, expect.stringContaining(`job="${job_name}"`)]);
});

test('the command of docs/operations.md makes a PrometheusRule of the alerts', async () => {
  const blocks = codeBlocks(await readFile(projectFile('docs/operations.md'), 'utf8'));
  const { text = '' } = blocks.find(({ text }) => text.includes('PrometheusRule')) ?? {};
  const folder = await temporaryFolder();
  // In place of kubectl, shows what it would be given.
  await writeFile(join(folder, 'kubectl'), '#!/bin/sh\ncat\n', { mode: 0o755 });
  const PATH = `${folder}:${process.env.PATH}`;
  const { code, stdout, stderr } = await run('sh', ['-c', text], { PATH }, projectFile(''));
  expect([code, stderr]).toEqual([0, '']);
  const manifest: Manifest = parse(stdout);
  expect(manifest.kind).toBe('PrometheusRule');
  checkSchema(manifest);
  expect(await unknownFields([manifest])).toBe('');
  expect(manifest.spec).toMatchObject({ groups: [{ rules: await alertRules() }] });
});
