import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile, startNode, temporaryFolder } from '../service-process.ts';

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
