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

async function run(statements: string) {
  const { code, stdout, stderr } = await startNode(program(statements), await temporaryFolder()).outcome();
  const lines = stdout.split('\n').slice(0, -1);
  return { code, lines: lines.map((line) => JSON.parse(line)), stderr };
}

test('has every line when the process exits at once', async () => {
  const { code, lines } = await run('process.exit(3);');
  expect(code).toBe(3);
  expect(lines.map(({ msg }) => msg)).toEqual(['one', 'two']);
});

test.each([
  ['an exception that nobody catches', `setImmediate(() => { throw new TypeError('a defect'); });`],
  ['a rejection that nobody handles', `Promise.reject(new TypeError('a defect'));`],
])('has every line, and why it ends, when %s ends the process', async (_name, statement) => {
  const { code, lines, stderr } = await run(statement);
  expect(code).toBe(1);
  expect(lines.map(({ msg }) => msg)).toEqual(['one', 'two', 'crash']);
  const stack = expect.stringContaining('TypeError: a defect\n    at ');
  expect(lines[2]).toMatchObject({ level: 60, err: { name: 'TypeError', message: 'a defect', stack } });
  expect(stderr).toContain('TypeError: a defect');
});

test('does not keep a crash from ending the process when its reader has stalled', async () => {
  const { path } = await namedPipe();
  const script = program(
    `for (let n = 0; n < 100; n++) log.info('x'.repeat(4_000)); setImmediate(() => { throw new TypeError('a defect'); });`,
  );
  const wrapper = ['sh', '-c', `exec "$0" "$@" > ${path}`];
  const crash = startNode(script, await temporaryFolder(), {}, { wrapper });
  expect(await crash.exited).toEqual({ code: 1, signal: null });
  expect(crash.stderr()).toContain('TypeError: a defect');
});

/** Runs a program on a terminal of its own, passes on all that it says, and ends as it ends. */
const ON_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

async function onATerminal(statements: string) {
  const wrapper = ['python3', '-c', ON_A_TERMINAL];
  const terminal = startNode(program(statements), await temporaryFolder(), {}, { wrapper });
  const { code, stdout } = await terminal.outcome();
  return { code, text: stripVTControlCharacters(stdout) };
}

test('is readable on a terminal, to the line that says why the process ends', async () => {
  const { code, text } = await onATerminal(`setImmediate(() => { throw new TypeError('a defect'); });`);
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
  const script = program(`log.info('x'.repeat(1_000_000)); setTimeout(() => process.exit(3), 300);`);
  const wrapper = ['python3', '-c', ON_A_STOPPED_TERMINAL];
  const terminal = startNode(script, await temporaryFolder(), {}, { wrapper });
  expect((await terminal.exited).code).toBe(3);
});
