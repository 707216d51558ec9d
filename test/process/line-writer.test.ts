import { expect, test } from '@jest/globals';
import { ATOMIC_WRITE, lineWriter } from '../../src/process/line-writer.ts';
import { eventually } from '../support/eventually.ts';
import { namedPipe } from '../support/programs/named-pipe.ts';

test('writes what came while its reader was slow without another line', async () => {
  const pipe = await namedPipe();
  const writer = lineWriter(pipe, { group: 100 });
  pipe.fill();
  const long = `${'x'.repeat(100)}\n`;
  writer.write(long);
  writer.write('short\n');
  expect(pipe.read()).toMatch(/^\n+$/);
  let text = '';
  await eventually(() => {
    text += pipe.read();
    return text === `${long}short\n`;
  });
});

test('writes whole lines at once, as many as no other process can write between', async () => {
  const pipe = await namedPipe();
  const writer = lineWriter(pipe, { group: 10_000 });
  const line = `${'x'.repeat(999)}\n`;
  // One of its pages is left.
  pipe.fill(ATOMIC_WRITE + 900);
  for (let n = 0; n < 6; n++) writer.write(line);
  writer.flush();
  expect(pipe.read().trimStart()).toBe(line.repeat(4));
  writer.flush();
  expect(pipe.read()).toBe(line.repeat(2));
});
