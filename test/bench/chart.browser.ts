import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { contenders } from '../../bench/contenders.ts';
import { open } from '../support/programs/browser.ts';
import { projectFile } from '../support/service-process.ts';

/* The chart in the README, as a browser draws it. */

interface Text {
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly texts: readonly Text[];
}

test('bench/results.svg shows throughput and CPU time, and cuts off none of its texts', async () => {
  const { page } = await open(pathToFileURL(projectFile('bench/results.svg')).href);
  const { width, height, texts } = await page.evaluate<Drawing>(`(() => {
    const { width, height } = document.documentElement.getBoundingClientRect();
    const texts = [...document.querySelectorAll('text')].map((text) => {
      const { left, top, right, bottom } = text.getBoundingClientRect();
      return { text: text.textContent, left, top, right, bottom };
    });
    return { width, height, texts };
  })()`);
  const isCut = ({ left, top, right, bottom }: Text) => left < 0 || top < 0 || right > width || bottom > height;
  expect(texts.filter(isCut)).toEqual([]);
  const shown = texts.map(({ text }) => text);
  expect(shown).toEqual(expect.arrayContaining(['Creates per second', 'CPU time per create, µs']));
  // At its line and at its bar.
  for (const { title, stores } of [contenders.ours, contenders.fastify, contenders.bare]) {
    expect(shown.filter((text) => text === title)).toHaveLength(stores ? 2 : 1);
  }
});
