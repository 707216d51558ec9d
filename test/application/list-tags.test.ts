import { expect, test } from '@jest/globals';
import { listTags } from '../../src/application/list-tags.ts';
import type { Tags } from '../../src/application/ports.ts';

const { signal } = new AbortController();
const tagged = (tag: string): Tags['tags'][number] => ({ tag, count: 1, isExact: true });

test.each<[string, number, number, Tags['tags']]>([
  ['so many', 2, 0, [tagged('a'), tagged('b')]],
  ['all', 100, 0, [tagged('a'), tagged('b'), tagged('c'), tagged('d')]],
  ['those that were read within a second', 100, 600, [tagged('a'), tagged('b')]],
])('lists %s tags, whose parts the store gives, and where they go on', async (_what, limit, pause, tags) => {
  const all = ['a', 'b', 'c', 'd'];
  let time = 0;
  const readTags = async (after: string | undefined) => {
    const [tag = '', next] = all.slice(after === undefined ? 0 : all.indexOf(after) + 1);
    time += pause;
    return { tags: [tagged(tag)], next: next && tag };
  };
  const last = tags.at(-1)?.tag;
  const list = listTags({ readTags }, () => time);
  expect(await list({ after: undefined, limit, signal })).toEqual({ tags, next: last === 'd' ? undefined : last });
});
