import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* The log as a process of its own writes it, to its last line. */

/** The arguments of Node.js for a few statements after two lines were logged that no buffer is full with. */
function program(statements: string): string[] {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/composition/log.ts'))});
    const { log } = await createLog('info');
    log.info('one');
    log.info('two');
    ${statements}`;
  return ['--input-type=module', '--eval', script];
}

/** Runs them to their end, behind a program if one is given. */
const run = async (statements: string, ...wrapper: string[]) =>
  startNode(program(statements), await temporaryFolder(), {}, { wrapper }).outcome();

const linesIn = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const CRASH = `setImmediate(() => { throw new TypeError('a defect'); });`;

test('has every line when the process exits at once', async () => {
  const { code, stdout } = await run('process.exit(3);');
  expect(code).toBe(3);
  expect(linesIn(stdout)).toMatchObject([{ msg: 'one' }, { msg: 'two' }]);
});

test.each([
  ['an exception that nobody catches', CRASH],
  ['a rejection that nobody handles', `Promise.reject(new TypeError('a defect'));`],
])('has every line, and why it ends, when %s ends the process', async (_name, statement) => {
  const { code, stdout, stderr } = await run(statement);
  const err = {
    name: 'TypeError',
    message: 'a defect',
    stack: expect.stringContaining('TypeError: a defect\n    at '),
  };
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

/** Runs a program on a terminal of its own, passes on all that it says, and ends as it ends. */
const ON_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

async function onATerminal(statements: string) {
  const { code, stdout } = await run(statements, 'python3', '-c', ON_A_TERMINAL);
  return { code, text: stripVTControlCharacters(stdout) };
}

test('is readable on a terminal, to the line that says why the process ends', async () => {
  const { code, text } = await onATerminal(CRASH);
  expect(code).toBe(1);
  const lines = text.split('\r\n').filter((line) => /^\[\d\d:\d\d:/.test(line));
  const levels = lines.map((line) => line.replace(/^\[.*?\] /, '').trimEnd());
  expect(levels).toEqual(['INFO: one', 'INFO: two', 'FATAL: crash']);
  expect(text.slice(text.indexOf('crash'))).toMatch(/TypeError: a defect\s+at /);
  expect(text).not.toMatch(/^\{|"level"/m);
});

test('has one line for each request on a terminal', async () => {
  const line = { requestId: 'an-id', method: 'POST', path: '/plants', status: 400, error: 40022, durationMs: 1.25 };
  const rest = { bytesIn: 10, bytesOut: 20, aborted: true };
  const { text } = await onATerminal(`log.info(${JSON.stringify({ ...line, ...rest })}, 'request');`);
  expect(text.trimEnd().split('\r\n').slice(2)).toEqual([
    expect.stringMatching(/^\[[\d:]+\] INFO: request POST \/plants 400 40022 1\.25 ms an-id \{"aborted":true\}$/),
  ]);
});

/** Starts a program on a terminal that shows nothing, as after Ctrl-S, and ends as that ends. */
const ON_A_STOPPED_TERMINAL = `
import pty, subprocess, sys
_, terminal = pty.openpty()
sys.exit(subprocess.run(sys.argv[1:], stdout=terminal, stderr=terminal).returncode)`;

test('does not keep the process from ending on a terminal that is stopped', async () => {
  const statements = `log.info('x'.repeat(1_000_000)); setTimeout(() => process.exit(3), 300);`;
  expect((await run(statements, 'python3', '-c', ON_A_STOPPED_TERMINAL)).code).toBe(3);
});
