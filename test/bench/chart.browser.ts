import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { startBrowser } from '../support/browser.ts';
import { projectFile } from '../support/service-process.ts';

/* The chart in the README, as a browser draws it. */

test('bench/results.svg cuts off none of its texts', async () => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(projectFile('bench/results.svg')).href);
    const { width, texts } = await page.evaluate<{ width: number; texts: { text: string; right: number }[] }>(`({
      width: document.documentElement.getBoundingClientRect().width,
      texts: [...document.querySelectorAll('text')].map((text) => ({
        text: text.textContent,
        right: text.getBoundingClientRect().right,
      })),
    })`);
    expect(texts.map(({ text }) => text)).toContain('Plant Store');
    expect(texts.filter(({ right }) => right > width)).toEqual([]);
  } finally {
    await browser.close();
  }
});
