import { expect, test } from '@jest/globals';
import { databases, openPlants, row } from '../../../support/programs/plants-page.ts';

/* How the page scrolls through many plants, as the browser's own tracing shows it. */

/** By hand more: PLANTS=1000000 npm run test:browser -- plants-page-scrolling */
const COUNT = Number(process.env.PLANTS ?? 100_000);

/** Of the browser's events. */
const KEPT = new Set(['RunTask', 'thread_name']);

const MARK_FIRST_ROW = `new MutationObserver((_, observer) => {
  if (!document.getElementById('plant-1')) return;
  performance.mark('first row');
  observer.disconnect();
}).observe(document, { childList: true, subtree: true })`;

/** Milliseconds from the end of the first response with plants to the first row. */
const AFTER_RESPONSE = `performance.getEntriesByName('first row')[0].startTime -
  performance.getEntriesByType('resource').find(({ name }) => name.includes('/plants?')).responseEnd`;

/** Scrolls to the end in every frame, until the last plant is there. The most elements that the document ever had. */
const SCROLL = `(async () => {
  const grid = document.getElementById('plants');
  let most = 0;
  do {
    grid.scrollTop = grid.scrollHeight;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, document.getElementsByTagName('*').length);
  } while (!document.getElementById('plant-${COUNT}'));
  return most;
})()`;

test.each(databases)(
  `scrolls through ${COUNT} plants on %s, with few elements and without long tasks`,
  async (_name, start) => {
    const service = await start(COUNT);
    const { page } = await openPlants(service.apiUrl);
    await page.addInitScript(MARK_FIRST_ROW);
    await page.reload();
    await row(page, 1).waitFor();
    const firstRow = await page.evaluate<number>(AFTER_RESPONSE);
    const tracing = await page.context().newCDPSession(page);
    const events: { name: string; pid: number; tid: number; dur?: number; tdur?: number; args: { name?: string } }[] =
      [];
    tracing.on('Tracing.dataCollected', ({ value }) => {
      for (const event of value as unknown as typeof events) if (KEPT.has(event.name)) events.push(event);
    });
    await tracing.send('Tracing.start', {
      transferMode: 'ReportEvents',
      categories: 'disabled-by-default-devtools.timeline,__metadata',
    });
    const began = performance.now();
    const most = await page.evaluate<number>(SCROLL);
    const seconds = (performance.now() - began) / 1_000;
    const ended = new Promise((resolve) => tracing.once('Tracing.tracingComplete', resolve));
    await tracing.send('Tracing.end');
    await ended;
    const main = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
    const isMain = (pid: number, tid: number) => main.some((thread) => thread.pid === pid && thread.tid === tid);
    const tasks = events.filter(({ name, pid, tid }) => name === 'RunTask' && isMain(pid, tid));
    // Of the processor's time, since neighbours on a busy machine are no fault of the page. What the page does comes again
    // with each of 200 parts of the list. Collections of V8's garbage do not, nor what a shared core slows down.
    const times = tasks.map(({ dur = 0, tdur = dur }) => tdur / 1_000).sort((a, b) => b - a);
    const [longest = 0, tenth = 0] = [times[0], times[9]];
    process.stdout.write(
      `${COUNT} plants: ${seconds.toFixed(1)} s, ${most} elements, longest task ${longest} ms, the tenth ${tenth} ms, first row after ${firstRow} ms\n`,
    );
    expect(most).toBeLessThan(600);
    expect(tasks.length).toBeGreaterThan(COUNT / 1_000);
    expect(tenth).toBeLessThan(50);
    await page.getByText(/^[\d,]+ plants$/).waitFor();
  },
  COUNT * 3,
);
