import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectFile } from '../service-process.ts';

/** The paths of all documents, from the root of the project. */
export const documents = ['.', 'docs', 'bench', 'examples', 'test', 'test/faults', 'test/hostile'].flatMap((folder) =>
  readdirSync(projectFile(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);
