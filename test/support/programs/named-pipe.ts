import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEndOrBefore } from '../lifetimes.ts';
import { temporaryFolder } from '../service-process.ts';

/** The bytes that a pipe of Linux holds. */
const CAPACITY = 65_536;

/** A pipe that others can write to, which is read only when the test says so. */
export async function namedPipe() {
  const path = join(await temporaryFolder(), 'pipe');
  await makePipe(path);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(CAPACITY);
  return {
    path,
    /** For reading and writing. */
    fd,
    /** What it holds; '' if that is nothing. */
    read() {
      try {
        return buffer.toString('utf8', 0, readSync(fd, buffer));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
        throw error;
      }
    },
    /** Fills it but for these bytes. */
    fill(except = 0) {
      writeSync(fd, Buffer.alloc(CAPACITY - except, '\n'));
    },
    /** Leaves it without a reader. */
    close: atEndOrBefore(() => closeSync(fd)),
  };
}

/** Makes one in a folder that is there. */
export async function makePipe(path: string): Promise<void> {
  await promisify(execFile)('mkfifo', [path]);
}
