import { expect, test } from '@jest/globals';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* The log as a process of its own writes it, to its last line. */

/** Runs a few statements after two lines were logged that no buffer is full with, behind a program if one is given. */
async function run(statements: string, ...wrapper: string[]) {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/composition/log.ts'))});
    const { log } = await createLog('info');
    log.info('one');
    log.info('two');
    ${statements}`;
  return startNode(['--input-type=module', '--eval', script], await temporaryFolder(), {}, { wrapper }).outcome();
}

const linesIn = (stdout: string) => [...stdout.matchAll(/.+/g)].map(([line]) => JSON.parse(line));

const CRASH = `setImmediate(() => { throw new TypeError('a defect'); });`;

test.each([
  ['an exception that nobody catches', CRASH],
  ['a rejection that nobody handles', `Promise.reject(new TypeError('a defect'));`],
])('has every line, and why it ends, when %s ends the process', async (_name, statement) => {
  const { code, stdout, stderr } = await run(statement);
  const stack = expect.stringContaining('TypeError: a defect\n    at ');
  const err = { name: 'TypeError', message: 'a defect', stack };
  expect(linesIn(stdout)).toMatchObject([{ msg: 'one' }, { msg: 'two' }, { msg: 'crash', level: 60, err }]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('TypeError: a defect')]);
});

test('does not keep a crash from ending the process when its reader has stalled', async () => {
  const { path } = await namedPipe();
  const statements = `for (let n = 0; n < 100; n++) log.info('x'.repeat(4_000)); ${CRASH}`;
  const { code, stderr } = await run(statements, 'sh', '-c', `exec "$0" "$@" > ${path}`);
  expect([code, stderr]).toEqual([1, expect.stringContaining('TypeError: a defect')]);
});

test('says what caused an error, five causes deep, also if errors are the causes of each other', async () => {
  const errors = `const a = new Error('a'); const b = new Error('b', { cause: a }); a.cause = b;`;
  const { code, stdout } = await run(`${errors} log.error({ err: a }, 'failed');`);
  let { err } = linesIn(stdout).at(-1);
  const messages: string[] = [];
  for (; err; err = err.cause) messages.push(err.message);
  expect([code, messages]).toEqual([0, ['a', 'b', 'a', 'b', 'a', 'b']]);
});
