import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { tokenVerifier } from '../../src/composition/token-verifier.ts';
import { readConfig } from '../../src/config/config.ts';
import { CLOSE, get, post } from '../support/api-server.ts';
import { mistakes } from '../support/config-files.ts';
import { eventually } from '../support/eventually.ts';
import { atEnd } from '../support/lifetimes.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';

const OLD = 'the-old-token-of-the-tests';
const NEW = 'the-new-token-of-the-tests';
const OTHER = 'another-token-of-the-tests';

test('a running service takes tokens that permit reading from a file that changes, beside those that permit all', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'tokens');
  await writeFile(file, OLD);
  const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/plants', STORE_TIMEOUT: '1ms', LOG_LEVEL: 'trace' };
  const service = await startService(folder, { ...nowhere, READ_TOKENS_FILE: file, ACCESS_TOKENS: OTHER });
  const logged = (text: string) => service.until(() => service.stdout().includes(text));
  /** The statuses of a read and of a body that is no plant; each is refused for that only if it is permitted. */
  async function permitted(token: string): Promise<string> {
    const headers = { ...CLOSE, Authorization: `Bearer ${token}` };
    const responses = [await get(service.apiUrl, '/plants/x', headers), await post(service.apiUrl, '{}', headers)];
    return `${responses.map(({ status }) => status)}`;
  }
  const all = async () => [await permitted(OLD), await permitted(NEW), await permitted(OTHER)];
  expect(await all()).toEqual(['400,403', '401,401', '400,400']);
  await writeFile(file, NEW);
  await logged('the accepted tokens have changed');
  expect(await all()).toEqual(['401,401', '400,403', '400,400']);
  await writeFile(file, 'too-short');
  await logged('(line 1 is wrong)');
  expect(await permitted(NEW)).toBe('400,403');

  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(service.stdout() + service.stderr()).not.toContain('-of-the-tests');
});

/* The same within this process, where polls are milliseconds apart. */

/** A verifier, and its lines in the log. */
async function verifier(environment: Record<string, string>) {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const opened = new AsyncDisposableStack();
  atEnd(() => opened.disposeAsync());
  const { verifyToken } = await tokenVerifier(readConfig(environment), log, opened, 1);
  const accepted = () => [OLD, NEW, OTHER].filter((token) => verifyToken(token) !== undefined);
  const logged = (text: string, times = 1) =>
    eventually(() => lines.filter(({ msg }) => msg.includes(text)).length === times);
  return { accepted, logged, lines };
}

const [INFO, ERROR] = [30, 50];

test.each<[string, string]>([['a token that READ_TOKENS has too', `${NEW}\n${OTHER}\n`]])(
  'what the service could not start with is logged once and changes nothing: %s',
  async (_what, content) => {
    const file = join(await temporaryFolder(), 'tokens');
    await writeFile(file, OLD);
    const environment = { ACCESS_TOKENS_FILE: file, READ_TOKENS: OTHER };
    const { accepted, logged, lines } = await verifier(environment);

    await replace(file, content);
    await logged('The tokens before stay accepted');
    expect(accepted()).toEqual([OLD, OTHER]);
    const refusal = mistakes(environment).join('\n');
    expect(lines).toMatchObject([{ level: ERROR, msg: `${refusal}. The tokens before stay accepted` }]);
    expect(refusal).toMatch(/^(ACCESS_TOKENS_FILE must be|READ_TOKENS and READ_TOKENS_FILE must not have) /);

    await replace(file, NEW);
    await logged('the accepted tokens have changed');
    expect(accepted()).toEqual([NEW, OTHER]);
    expect(lines.map(({ level }) => level)).toEqual([ERROR, INFO]);
  },
);

/** Without a moment in which the file is empty. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

test('one file changes nothing while the other is wrong, since the service could not start with both', async () => {
  const folder = await temporaryFolder();
  const [file, readers] = [join(folder, 'tokens'), join(folder, 'readers')];
  await writeFile(file, OLD);
  await writeFile(readers, OTHER);
  const { accepted, logged } = await verifier({ ACCESS_TOKENS_FILE: file, READ_TOKENS_FILE: readers });
  await replace(readers, 'too-short');
  const wrong = '(line 1 is wrong)';
  await logged(wrong);
  await replace(file, `${NEW}\n`);
  // Again, or whoever withdraws a token would think that it is no longer accepted.
  await logged(wrong, 2);
  expect(accepted()).toEqual([OLD, OTHER]);
  await replace(readers, `${OTHER}\n${OTHER}`);
  await logged('the accepted tokens have changed');
  expect(accepted()).toEqual([NEW, OTHER]);
});
