import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { ATOMIC_WRITE, lineWriter } from '../../src/process/line-writer.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/service-process.ts';

/** The bytes that a pipe of Linux holds. */
const PIPE = 65_536;

/** A pipe with a descriptor to read from it without waiting. */
async function withPipe(work: (pipe: number) => Promise<void>): Promise<void> {
  const path = join(await temporaryFolder(), 'pipe');
  await promisify(execFile)('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  await work(pipe).finally(() => closeSync(pipe));
}

function read(pipe: number): string {
  const buffer = Buffer.alloc(PIPE);
  try {
    return buffer.toString('utf8', 0, readSync(pipe, buffer));
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
    return '';
  }
}

test('writes what came while its reader was slow without another line', () =>
  withPipe(async (pipe) => {
    const writer = lineWriter({ fd: pipe }, { group: 100 });
    writeSync(pipe, Buffer.alloc(PIPE, '-'));
    const long = `${'x'.repeat(100)}\n`;
    writer.write(long);
    writer.write('short\n');
    expect(read(pipe)).toHaveLength(PIPE);
    let text = '';
    await eventually(() => {
      text += read(pipe);
      return text === `${long}short\n`;
    });
  }));

test('writes whole lines at once, as many as no other process can write between', () =>
  withPipe(async (pipe) => {
    const writer = lineWriter({ fd: pipe }, { group: 10_000 });
    const line = `${'x'.repeat(999)}\n`;
    // One of its pages is left.
    writeSync(pipe, Buffer.alloc(PIPE - ATOMIC_WRITE - 900, '-'));
    for (let n = 0; n < 6; n++) writer.write(line);
    writer.flush();
    expect(read(pipe).replace(/^-+/, '')).toBe(line.repeat(4));
    writer.flush();
    expect(read(pipe)).toBe(line.repeat(2));
  }));
