import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* The log as a process of its own writes it, to its last line, also on a terminal, which python3 makes. */

/** Runs statements that log, behind a program if one is given. */
async function run(statements: string, ...wrapper: string[]) {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/bootstrap/log.ts'))});
    const log = await createLog('info');
    ${statements}`;
  return startNode(['--input-type=module', '--eval', script], await temporaryFolder(), {}, { wrapper }).outcome();
}

/** Runs a program on a terminal of its own, passes on all that it says, and ends as it ends. */
const ON_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** @returns how statements end on a terminal, and what is shown, without colours */
async function shown(statements: string) {
  const { code, stdout } = await run(statements, 'python3', '-c', ON_A_TERMINAL);
  return { code, text: stripVTControlCharacters(stdout) };
}

const linesIn = (stdout: string) => [...stdout.matchAll(/.+/g)].map(([line]) => JSON.parse(line));

const TWO_LINES = `log.info('one'); log.info('two');`;
const CRASH = `setImmediate(() => { throw new TypeError('a defect'); });`;

test.each([
  ['an exception that nobody catches', CRASH],
  ['a rejection that nobody handles', `Promise.reject(new TypeError('a defect'));`],
])('has every line, and why it ends, when %s ends the process', async (_name, statement) => {
  const { code, stdout, stderr } = await run(`${TWO_LINES} ${statement}`);
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

test('says what caused an error, five causes deep, also if they cause each other', async () => {
  const errors = `const a = new Error('a'); const b = new Error('b', { cause: a }); a.cause = b;`;
  const { code, stdout } = await run(`${errors} log.error({ err: a }, 'failed');`);
  let { err } = linesIn(stdout).at(-1);
  const messages: string[] = [];
  for (; err; err = err.cause) messages.push(err.message);
  expect([code, messages]).toEqual([0, ['a', 'b', 'a', 'b', 'a', 'b']]);
});

test('is readable on a terminal, to the line that says why the process ends', async () => {
  const { code, text } = await shown(`log.info('one'); ${CRASH}`);
  expect(code).toBe(1);
  expect(text).toMatch(/^\[[\d:]+\] INFO: one\s+\[[\d:]+\] FATAL: crash\s/);
  expect(text.slice(text.indexOf('crash'))).toMatch(/TypeError: a defect\s+at /);
  expect(text).not.toMatch(/^\{|"level"/m);
});

test('has one line for each request on a terminal', async () => {
  const request = { requestId: 'an-id', method: 'POST', path: '/plants', status: 400, error: 40022, durationMs: 1.25 };
  const unusual = { bytesIn: 10, bytesOut: 20, aborted: true };
  const { text } = await shown(`log.info(${JSON.stringify({ ...request, ...unusual })}, 'request');`);
  expect(text).toMatch(/^\[[\d:]+\] INFO: request POST \/plants 400 40022 1\.25 ms an-id \{"aborted":true\}\r\n$/);
});
