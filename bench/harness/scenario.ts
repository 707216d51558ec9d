import { parseArgs } from 'node:util';
import { markdownTable } from '../../tooling/markdown-table.ts';
import { positive } from '../../tooling/options.ts';
import { plantStore, startServer } from '../../tooling/server-process.ts';
import { type Session, session } from '../../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres } from '../../tooling/session-database.ts';
import { claimTable, type Found, publish } from './results.ts';

/** What a scenario has found. */
interface Outcome extends Found {
  /** Where it was found: without one, nothing is published. */
  readonly database?: BenchDatabase;
}

/**
 * Runs a scenario with the numbers, texts and flags that its command line gives. Prints what it finds, and writes it to
 * `bench/NAME.json` if it is the whole bench of a commit: no option was given, and no file differs.
 */
export function scenario<Options extends Record<string, number | string | boolean>>(
  name: string,
  defaults: Options,
  work: (session: Session, options: Options) => Promise<Outcome>,
): Promise<never> {
  const kinds = Object.entries(defaults).map(([option, value]) => {
    const type: 'boolean' | 'string' = typeof value === 'boolean' ? 'boolean' : 'string';
    return [option, { type }] as const;
  });
  const { values } = parseArgs({ options: Object.fromEntries(kinds) });
  const given = Object.entries(values).map(([option, value]) => [
    option,
    typeof value === 'string' && typeof defaults[option] === 'number' ? positive(value, 1) : value,
  ]);
  const options: Options = { ...defaults, ...Object.fromEntries(given) };
  return session(async (session) => {
    const { database, ...found } = await work(session, options);
    for (const table of Object.values(found.tables ?? {})) console.log(`\n${markdownTable(table.head, table.rows)}`);
    if (found.claims !== undefined) console.log(`\n${claimTable(found.claims)}`);
    if (database !== undefined && given.length === 0) await publish(name, database, { settings: options, ...found });
  });
}

/** A database of the scenario's own, and what starts a server on it, the service unless another is given. */
export async function onDatabase(session: Session) {
  const database = await createDatabase(await findPostgres(session), session);
  return {
    database,
    start: (program = plantStore, options?: Parameters<typeof startServer>[3]) =>
      startServer(program, database.url, session, options),
  };
}
