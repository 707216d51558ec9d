import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from './support/service-process.ts';

/* The log as a process of its own writes it, to its last line. */

/** Runs a few statements after two lines were logged that no buffer is full with. */
async function run(statements: string) {
  const script = `
    const { createLog } = await import(${JSON.stringify(projectFile('src/log.ts'))});
    const log = await createLog('info');
    log.info('one');
    log.info('two');
    ${statements}`;
  const process = startNode(['--input-type=module', '--eval', script], await temporaryFolder());
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
