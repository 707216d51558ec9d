import { execFile } from 'node:child_process';
import { mkdir, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { followTokensFile } from '../../../src/adapters/tokens/tokens-file.ts';
import { tokens } from '../../../src/config/config-rules.ts';
import { eventually } from '../../support/eventually.ts';
import { type Service, startService, temporaryFolder } from '../../support/service-process.ts';

const OLD = 'the-old-token-of-the-tests';
const NEW = 'the-new-token-of-the-tests';
const OTHER = 'another-token-of-the-tests';
const file = { variable: 'ACCESS_TOKENS_FILE', tokens: [OLD] };

test('a pipe is not followed, since what it had is gone once it is read', async () => {
  const folder = await temporaryFolder();
  await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
  const reads = { pipe: 0, file: 0 };
  const ends = (['pipe', 'file'] as const).map((name) =>
    followTokensFile({ ...file, path: join(folder, name) }, tokens, pino({ level: 'silent' }), () => {}, {
      read: async () => {
        reads[name]++;
        return OLD;
      },
      interval: 1,
    }),
  );
  await eventually(() => reads.file > 5);
  for (const end of ends) end();
  expect(reads.pipe).toBe(0);
});

describe('what is taken from a file that reads', () => {
  /** Lets a file be looked at as often as there are texts, and gives what was taken and logged. */
  async function followed(texts: (string | Error)[]) {
    const taken: (readonly string[])[] = [];
    const lines: string[] = [];
    const over = Promise.withResolvers<void>();
    const read = async () => {
      const text = texts.shift();
      // The look after the last one, when that is done with.
      if (text === undefined) over.resolve();
      if (typeof text !== 'string') throw text;
      return text;
    };
    const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
    const end = followTokensFile({ ...file, path: '' }, tokens, log, (changed) => taken.push(changed), {
      read,
      interval: 1,
    });
    await over.promise;
    end();
    return { taken, levels: lines.map((line) => JSON.parse(line).level), text: lines.join('') };
  }
  const [INFO, ERROR] = [30, 50];

  test.each<[string, (string | Error)[], string[][]]>([
    ['the same all the time', [OLD, OLD, OLD], []],
    ['the same, written otherwise', [`${OLD}\n`, `${OLD}\n`, ` ${OLD},`, ` ${OLD},`], []],
    ['a new token twice', [OLD, NEW, NEW, NEW], [[NEW]]],
    ['two tokens', [`${OLD}\n${NEW}`, `${OLD}\n${NEW}`], [[OLD, NEW]]],
    ['a new token once', [NEW, OLD, OLD], []],
    ['nothing, then half of it, then the whole', ['', NEW.slice(0, 16), `${NEW}\n`, `${NEW}\n`], [[NEW]]],
    ['something else each time', [NEW, `${NEW}\n${OTHER}`, NEW, OTHER], []],
    ['one set after another', [NEW, NEW, OTHER, OTHER], [[NEW], [OTHER]]],
  ])('%s', async (_name, texts, sets) => {
    const { taken, levels } = await followed(texts);
    expect(taken).toEqual(sets);
    expect(levels).toEqual(sets.map(() => INFO));
  });

  test.each<[string, string | Error]>([
    ['nothing', ''],
    ['a token that is too short', `${NEW}\nfifteen-letters`],
    ['what no token can be', `${NEW} ${NEW}`],
    ['not at all', new Error('no such file')],
  ])('%s: none of it, and one error that names the variable and tells no token', async (_name, bad) => {
    const { taken, levels, text } = await followed([OLD, OLD, bad, bad, bad, bad]);
    expect(taken).toEqual([]);
    expect(levels).toEqual([ERROR]);
    expect(text).toContain('ACCESS_TOKENS_FILE must contain one token or more');
    expect(text).not.toMatch(/-of-the-tests|fifteen-letters/);
  });

  test('well again: that, even if it is what it was', async () => {
    expect(await followed(['', '', OLD, OLD])).toMatchObject({ taken: [[OLD]], levels: [ERROR, INFO] });
  });
});

describe('a running service', () => {
  let service: Service;
  afterEach(async () => {
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(service.stdout() + service.stderr()).not.toContain('-of-the-tests');
  });

  async function start(file: string, environment: Record<string, string> = { ACCESS_TOKENS_FILE: file }) {
    const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/plants', STORE_TIMEOUT: '1ms', LOG_LEVEL: 'trace' };
    service = await startService(join(file, '..'), { ...nowhere, ...environment });
  }

  /** Which of these tokens it accepts; a body that is no plant tells without a database. */
  async function accepted(...tokens: string[]): Promise<string[]> {
    const statuses = tokens.map(async (token) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Connection: 'close' };
      return (await fetch(`${service.apiUrl}/plants`, { method: 'POST', headers, body: '{}' })).status;
    });
    const answers = await Promise.all(statuses);
    return tokens.filter((_token, index) => answers[index] !== 401);
  }

  const logged = (text: string, times: number) =>
    service.until(() => service.stdout().split(text).length === times + 1);
  const CHANGED = 'the tokens of ACCESS_TOKENS_FILE have changed';

  test('takes tokens from a file that is written in place, and keeps those of ACCESS_TOKENS', async () => {
    const file = join(await temporaryFolder(), 'tokens');
    await writeFile(file, OLD);
    await start(file, { ACCESS_TOKENS_FILE: file, ACCESS_TOKENS: OTHER });
    expect(await accepted(OLD, NEW, OTHER)).toEqual([OLD, OTHER]);
    await writeFile(file, `${OLD}\n${NEW}\n`);
    await logged(CHANGED, 1);
    expect(await accepted(OLD, NEW, OTHER)).toEqual([OLD, NEW, OTHER]);
    await writeFile(file, `${NEW}\n`);
    await logged(CHANGED, 2);
    expect(await accepted(OLD, NEW, OTHER)).toEqual([NEW, OTHER]);
  });

  test('takes tokens that permit reading from READ_TOKENS_FILE, beside those that permit everything', async () => {
    const file = join(await temporaryFolder(), 'tokens');
    await writeFile(file, OLD);
    await start(file, { READ_TOKENS_FILE: file, ACCESS_TOKENS: OTHER });
    /** The statuses of a read and of a body that is no plant; each is refused for that only if it is permitted. */
    async function statuses(token: string): Promise<number[]> {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Connection: 'close' };
      const read = await fetch(`${service.apiUrl}/plants/x`, { headers });
      const created = await fetch(`${service.apiUrl}/plants`, { method: 'POST', headers, body: '{}' });
      return [read.status, created.status];
    }
    expect([await statuses(OLD), await statuses(NEW), await statuses(OTHER)]).toEqual([
      [400, 403],
      [401, 401],
      [400, 400],
    ]);
    await writeFile(file, NEW);
    await logged('the tokens of READ_TOKENS_FILE have changed', 1);
    expect([await statuses(OLD), await statuses(NEW), await statuses(OTHER)]).toEqual([
      [401, 401],
      [400, 403],
      [400, 400],
    ]);
    await writeFile(file, 'too-short');
    await logged('READ_TOKENS_FILE must contain', 1);
    expect(await statuses(NEW)).toEqual([400, 403]);
  });

  test('takes them from one that is renamed over, and keeps them while it is gone', async () => {
    const file = join(await temporaryFolder(), 'tokens');
    await writeFile(file, OLD);
    await start(file);
    await writeFile(`${file}.new`, NEW);
    await rename(`${file}.new`, file);
    await logged(CHANGED, 1);
    expect(await accepted(OLD, NEW)).toEqual([NEW]);
    await unlink(file);
    await logged('ACCESS_TOKENS_FILE must contain', 1);
    expect(await accepted(OLD, NEW)).toEqual([NEW]);
  });

  test('takes them from one behind a link to a folder that is swapped, as Kubernetes does', async () => {
    const folder = await temporaryFolder();
    for (const [version, token] of Object.entries({ first: OLD, second: NEW })) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'tokens'), token);
    }
    await symlink('first', join(folder, '..data'));
    await symlink('..data/tokens', join(folder, 'tokens'));
    await start(join(folder, 'tokens'));
    expect(await accepted(OLD, NEW)).toEqual([OLD]);
    await symlink('second', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await logged(CHANGED, 1);
    expect(await accepted(OLD, NEW)).toEqual([NEW]);
  });
});
