import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { allPermissions, readOnly } from '../../src/application/permissions.ts';
import { tokenVerifier } from '../../src/bootstrap/token-verifier.ts';
import { readConfig } from '../../src/config/config.ts';
import { eventually } from '../support/eventually.ts';
import { atEnd } from '../support/lifetimes.ts';
import { temporaryFolder } from '../support/service-process.ts';

const OLD = 'the-old-token-of-the-tests';
const NEW = 'the-new-token-of-the-tests';
const OTHER = 'another-token-of-the-tests';

/* Files of tokens that change under a running service, where polls are milliseconds apart. */

/** A verifier, and its lines in the log. */
async function verifier(environment: Record<string, string>) {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const opened = new AsyncDisposableStack();
  atEnd(() => opened.disposeAsync());
  const { verifyToken } = await tokenVerifier(readConfig(environment), log, opened, 1);
  const accepted = () => [OLD, NEW, OTHER].filter((token) => verifyToken(token) !== undefined);
  const permitted = async (token: string) => (await verifyToken(token))?.permissions;
  const logged = (text: string, times = 1) =>
    eventually(() => lines.filter(({ msg }) => msg.includes(text)).length === times);
  return { accepted, permitted, logged, lines };
}

/** Without a moment in which the file is empty. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

test('one file changes nothing while the other one is wrong', async () => {
  const folder = await temporaryFolder();
  const [file, readers] = [join(folder, 'tokens'), join(folder, 'readers')];
  await writeFile(file, OLD);
  await writeFile(readers, OTHER);
  const { accepted, permitted, logged, lines } = await verifier({
    ACCESS_TOKENS_FILE: file,
    READ_TOKENS_FILE: readers,
  });
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
  expect([await permitted(NEW), await permitted(OTHER)]).toEqual([allPermissions, readOnly]);
  expect(lines.map(({ level }) => level)).toEqual([50, 50, 30]);
  expect(JSON.stringify(lines)).not.toContain('-of-the-tests');
});
