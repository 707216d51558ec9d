import { expect, test } from '@jest/globals';
import { findSameNames } from '../../src/application/find-same-names.ts';
import type { PlantStore } from '../../src/application/ports.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { many } from '../support/plants/plant-lines.ts';

const plant = (id: number, name: string, tag?: string): NewPlant => ({ id: BigInt(id), name, ...(tag && { tag }) });

test('compares 200,000 plants in the background, for five seconds', async () => {
  const counts: number[] = [];
  let time = 0;
  let isLast = false;
  const scan: PlantStore['scan'] = async ({ from }, count) => {
    counts.push(count);
    time += 10;
    const plants = many(2_000);
    return { plants, lastId: from + 1n, isLast: isLast && counts.length === 100 };
  };
  const find = findSameNames({ scan }, () => time);
  expect(await find([plant(1, 'x')])).toBeUndefined();
  expect(counts).toEqual(Array(100).fill(2_000));
  [isLast, counts.length] = [true, 0];
  expect(await find([plant(1, 'x')])).toEqual([undefined]);
  counts.length = 0;
  const slow = findSameNames({ scan }, () => time * 100);
  expect(await slow([plant(1, 'x')])).toBeUndefined();
  expect(counts).toHaveLength(5);
});
