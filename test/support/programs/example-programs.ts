import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { TOKEN } from '../api-server.ts';
import { type Outcome, projectFile, run, startProgram } from '../service-process.ts';

/* The clients in examples. They need curl, openssl and python3. */

export interface Client {
  readonly language: string;
  readonly program: string;
  /** In the folder of examples. */
  readonly file: string;
}

export const python: Client = { language: 'Python', program: 'python3', file: 'plants.py' };

export const clients: Client[] = [
  { language: 'TypeScript', program: process.execPath, file: 'client/plants.ts' },
  python,
  { language: 'shell', program: 'sh', file: 'plants.sh' },
];

/** What they find the service by. @param token none if it is null */
export const addressed = (url: string, token: string | null = TOKEN): Record<string, string> => ({
  PLANT_STORE_URL: url,
  ...(token !== null && { PLANT_STORE_TOKEN: token }),
});

/** Runs one to its end, with the address and PATH as its whole environment. */
export function runClient(
  { program, file }: Client,
  args: readonly unknown[],
  ...service: Parameters<typeof addressed>
): Promise<Outcome> {
  return run(program, [projectFile(`examples/${file}`), ...args.map(String)], addressed(...service));
}

/** Starts one, which ends with the test. */
export const startClient = (
  { program, file }: Client,
  args: readonly string[],
  url: string,
  { cwd = projectFile(''), ...env }: { cwd?: string; WEBHOOK_SECRET?: string } = {},
) =>
  startProgram(program, [projectFile(`examples/${file}`), ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...addressed(url), ...env },
  });

/** What a query of a copy gives; nothing while there is none, or while it is being repaired after a kill. */
export function queryCopy(file: string, sql: string): Record<string, SQLOutputValue>[] {
  if (!existsSync(file)) return [];
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  } catch (error) {
    if (/no such table|locked/.test(`${error}`)) return [];
    throw error;
  } finally {
    database.close();
  }
}

/** The plants in a copy. */
export const copiedPlants = (file: string): NewPlant[] =>
  queryCopy(file, 'select id, name, tag from plants order by id').map(
    ({ tag, ...plant }) => ({ ...plant, ...(tag !== null && { tag }) }) as NewPlant,
  );
