import { expect, test } from '@jest/globals';
import { lineWriter } from '../../src/process/line-writer.ts';
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
