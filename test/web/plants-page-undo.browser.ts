import { expect, test } from '@jest/globals';
import { openWith } from '../support/programs/plants-page.ts';

/* What can be undone on the page, what it prints, how it begins without a plant, and what it says while it is cut off. */

const TWO = [
  { id: 1n, name: 'Ficus', tag: 'tree' },
  { id: 2n, name: 'Pinus', tag: 'conifer' },
];

test('deletes a plant after ten seconds, unless undone or somebody else was first', async () => {
  const { stored, store, page } = await openWith(TWO);
  await page.clock.install();
  const remove = async (id: number, name: string) => {
    await page.openPlant(id, { Name: name });
    await page.pressButton('Delete');
    await page.locator(`#plant-${id}.leaving`).waitFor();
  };
  await remove(1, 'Ficus');
  await page.pressButton('Undo');
  await page.locator('#plant-1:not(.leaving)').waitFor();
  await page.clock.fastForward(20_000);
  await remove(1, 'Ficus');
  expect(stored.get(1n)).toEqual(TWO[0]);
  await page.clock.fastForward(10_000);
  await page.row(1).waitFor({ state: 'detached' });
  expect(stored.get(1n)).toBe('deleted');

  await remove(2, 'Pinus');
  await store.replace({ id: 2n, name: 'theirs' });
  await page.clock.fastForward(10_000);
  await page.says('Plant 2 was not deleted. Somebody else has changed this plant (41200).');
  await page.locator('#plant-2:not(.leaving)').getByText('theirs').waitFor();
});

test('puts one plant or several back, unless somebody else has changed them since', async () => {
  const { stored, store, page } = await openWith(TWO);
  await page.openPlant(1, { Name: 'Ficus' });
  await page.save({ Name: 'Ficus carica' });
  await page.row(1).getByText('carica').waitFor();
  await page.locator('#plants').press('Control+z');
  await page.row(1).getByText('Ficus', { exact: true }).waitFor();
  await page.locator('#plants').press('Control+a');
  await page.pressButton('Set tag …');
  await page.says('This replaces 2 different tags.');
  await page.dialog().getByLabel('Tag', { exact: true }).fill('new');
  await page.pressButton('Set the tag');
  await page.says('2 of 2 plants changed');
  await store.replace({ id: 2n, name: 'theirs' });
  await page.row(2).getByText('theirs').waitFor();
  await page.pressButton('Undo');
  await page.says('1 of 2 plants put back, 1 refused.');
  expect(await page.dialog().getByLabel('Refused').inputValue()).toContain('2: Somebody else has changed this plant');
  expect([stored.get(1n), stored.get(2n)]).toEqual([TWO[0], { id: 2n, name: 'theirs' }]);
});

test.each([80, 3_000])('prints all of %i plants, not only those in view', async (count) => {
  const { page } = await openWith(Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `Ficus ${n}` })));
  await page.says(`${count.toLocaleString('en')} plants`);
  await page.evaluate(`addEventListener('beforeprint', () => {
    window.printed = [document.querySelectorAll('#print-rows tr').length, document.getElementById('print-title').textContent];
  })`);
  await page.pdf();
  expect(await page.evaluate('window.printed')).toEqual([count, `${count.toLocaleString('en')} plants`]);
  expect(await page.locator('#print-rows tr').count()).toBe(0);
});

test('welcomes whoever opens an empty store, with plants to try it', async () => {
  const { stored, page } = await openWith();
  // Their ids cannot be used again.
  for (const id of [1n, 2n]) stored.set(id, 'deleted');
  await page.pressButton('Try it with twelve plants');
  await page.says('12 plants');
  expect(await page.getByText('Try it with twelve plants').isVisible()).toBe(false);
  expect([...stored.values()].filter((plant) => plant !== 'deleted')).toHaveLength(12);
});
