import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* The log on a terminal, which python3 makes. */

/** Runs a program on a terminal of its own, passes on all that it says, and ends as it ends. */
const ON_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** Runs statements that log. @returns how they end and what is shown, without colours */
async function run(statements: string) {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/composition/log.ts'))});
    const { log } = await createLog('info');
    ${statements}`;
  const args = ['--input-type=module', '--eval', script];
  const wrapper = ['python3', '-c', ON_A_TERMINAL];
  const { code, stdout } = await startNode(args, await temporaryFolder(), {}, { wrapper }).outcome();
  return { code, text: stripVTControlCharacters(stdout) };
}

test('is readable on a terminal, to the line that says why the process ends', async () => {
  const { code, text } = await run(`log.info('one'); setImmediate(() => { throw new TypeError('a defect'); });`);
  expect(code).toBe(1);
  expect(text).toMatch(/^\[[\d:]+\] INFO: one\s+\[[\d:]+\] FATAL: crash\s/);
  expect(text.slice(text.indexOf('crash'))).toMatch(/TypeError: a defect\s+at /);
  expect(text).not.toMatch(/^\{|"level"/m);
});

test('has one line for each request on a terminal', async () => {
  const request = { requestId: 'an-id', method: 'POST', path: '/plants', status: 400, error: 40022, durationMs: 1.25 };
  const unusual = { bytesIn: 10, bytesOut: 20, aborted: true };
  const { text } = await run(`log.info(${JSON.stringify({ ...request, ...unusual })}, 'request');`);
  expect(text).toMatch(/^\[[\d:]+\] INFO: request POST \/plants 400 40022 1\.25 ms an-id \{"aborted":true\}\r\n$/);
});
