import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Service } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { parseAllDocuments } from 'yaml';
import { projectFile, startNode, temporaryFolder } from '../service-process.ts';

/* What deploy/kubernetes.yaml has. */

interface Kinds {
  Deployment: Deployment;
  Job: Job;
  PodDisruptionBudget: PodDisruptionBudget;
  Service: Service;
}
type Manifest = Kinds[keyof Kinds];

export async function readManifests() {
  const text = await readFile(projectFile('deploy/kubernetes.yaml'), 'utf8');
  const all: Manifest[] = parseAllDocuments(text).map((document) => document.toJS());
  return {
    all,
    /** The one of this kind. */
    only<Kind extends keyof Kinds>(kind: Kind): Kinds[Kind] {
      const [found, ...more] = all.filter((manifest) => manifest.kind === kind);
      if (found === undefined || more.length > 0) throw new Error(`there must be one ${kind}`);
      return found as Kinds[Kind];
    },
  };
}

/**
 * What the compiler says of literal values of these types, fields that the types do not have included; '' for none. A
 * type is such as `import('package').Type`.
 */
export async function typeErrors(values: readonly { type: string; value: unknown }[]): Promise<string> {
  const folder = await temporaryFolder();
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  const lines = values.map(({ type, value }, n) => `export const value${n}: ${type} = ${JSON.stringify(value)};`);
  await writeFile(join(folder, 'values.mts'), lines.join('\n'));
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
  const tsc = [projectFile('node_modules/typescript/bin/tsc'), ...options, 'values.mts'];
  const { stdout, stderr } = await startNode(tsc, folder).outcome();
  return stdout + stderr;
}

/** What does not fit the schemas of their kinds, fields that these do not have included; '' for nothing. */
export function schemaErrors(manifests: readonly Manifest[]): Promise<string> {
  return typeErrors(
    manifests.map((value) => {
      const [version = '', group = ''] = value.apiVersion?.split('/').toReversed() ?? [];
      const types = `kubernetes-types/${group.split('.')[0] || 'core'}/${version}.js`;
      return { type: `import('${types}').${value.kind}`, value };
    }),
  );
}

export function podOf({ spec }: Kinds['Deployment' | 'Job']) {
  if (spec?.template.spec === undefined) throw new Error('it has no pod');
  return spec.template.spec;
}

export function containerOf(workload: Kinds['Deployment' | 'Job']) {
  const [container, ...more] = podOf(workload).containers;
  if (container === undefined || more.length > 0) throw new Error('it must have one container');
  return container;
}
