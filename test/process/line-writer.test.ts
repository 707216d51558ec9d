import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { lineWriter } from '../../src/process/line-writer.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/service-process.ts';

/** The bytes that a pipe of Linux holds. */
const PIPE = 65_536;

/** A pipe with a descriptor to read from it without waiting. */
async function openPipe(): Promise<number> {
  const path = join(await temporaryFolder(), 'pipe');
  await promisify(execFile)('mkfifo', [path]);
  return openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
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

test.each([false, true])(
  'writes what came while its reader was slow without another line, shared: %s',
  async (isShared) => {
    const pipe = await openPipe();
    try {
      const writer = lineWriter({ fd: pipe }, { group: 100, isShared });
      writeSync(pipe, Buffer.alloc(PIPE, '-'));
      const long = `${'x'.repeat(100)}\n`;
      writer.write(long);
      writer.write('short\n');
      expect(read(pipe)).toHaveLength(PIPE);
      let text = '';
      await eventually(() => {
        text += read(pipe);
        return text === `${long}short\n`;
      }, 5_000);
    } finally {
      closeSync(pipe);
    }
  },
);
