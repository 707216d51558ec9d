import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectFile, startNode, startProgram, temporaryFolder } from '../support/service-process.ts';

/* The log as a process of its own writes it, to its last line. */

/** The arguments of Node.js for a few statements after two lines were logged that no buffer is full with. */
function program(statements: string): string[] {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/composition/log.ts'))});
    const log = await createLog('info');
    log.info('one');
    log.info('two');
    ${statements}`;
  return ['--input-type=module', '--eval', script];
}

async function run(statements: string) {
  const process = startNode(program(statements), await temporaryFolder());
  const { code } = await process.exited;
  const lines = process.stdout().split('\n').slice(0, -1);
  return { code, lines: lines.map((line) => JSON.parse(line)), stderr: process.stderr() };
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

/** Runs a program on a terminal of its own, passes on all that it says, and ends as it ends. */
const ON_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

test('is readable on a terminal, to the line that says why the process ends', async () => {
  const node = [process.execPath, ...program(`setImmediate(() => { throw new TypeError('a defect'); });`)];
  const terminal = startProgram('python3', ['-c', ON_A_TERMINAL, ...node], { cwd: await temporaryFolder() });
  expect(await terminal.exited).toEqual({ code: 1, signal: null });
  const text = stripVTControlCharacters(terminal.stdout());
  const lines = text.split('\r\n').filter((line) => /^\[\d\d:\d\d:/.test(line));
  expect(lines.map((line) => line.replace(/^\[.*?\] /, ''))).toEqual(['INFO: one', 'INFO: two', 'FATAL: crash']);
  expect(text.slice(text.indexOf('crash'))).toMatch(/TypeError: a defect\s+at /);
  expect(text).not.toMatch(/^\{|"level"/m);
});
