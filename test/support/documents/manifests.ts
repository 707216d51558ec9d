import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PodMonitor, PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { Job } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { projectFile, startNode, temporaryFolder } from '../service-process.ts';

/* What deploy/kubernetes has. */

const models = { Deployment, Ingress, Job, NetworkPolicy, PodDisruptionBudget, PodMonitor, PrometheusRule, Service };

/** The data of each model, without its methods. */
type Kinds = {
  [Kind in keyof typeof models]: (typeof models)[Kind]['is'] extends (value: unknown) => value is infer Data
    ? Data
    : never;
};
export type Manifest = Kinds[keyof Kinds];

export async function readManifests() {
  const folder = projectFile('deploy/kubernetes');
  const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const all: Manifest[] = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()));
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

/** @throws Error if it does not fit the schema of its kind */
export function checkSchema({ kind, ...fields }: Manifest): void {
  new models[kind]({ kind, ...fields } as never).validate();
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

/** Fields that their kinds do not have, which the schemas let pass; '' for none. */
export function unknownFields(manifests: readonly Manifest[]): Promise<string> {
  return typeErrors(
    manifests.map((value) => {
      const operator = value.apiVersion === 'monitoring.coreos.com/v1';
      const models = operator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
      return { type: `import('${models}/${value.apiVersion}').I${value.kind}`, value };
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
