import { describe, expect, test } from '@jest/globals';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import {
  dialog,
  drop,
  openPlants,
  press,
  says,
  smallTargets,
  violations,
} from '../../../support/programs/plants-page.ts';

/* How the dialogs of lists look, for eyes, keys and screen readers. */

const LIST = `Nummer;Bezeichnung;Art\r\n1;Monstera;Zimmerpflanze\r\n2;"Ficus ""alba""";Baum\r\n3;;Baum\r\nvier;Salvia;Kraut\r\n`;

/** A service in memory, with an id that spreadsheets would round. */
const start = () => {
  const ids = [100n, 2n ** 63n - 1n];
  return startApiServer({ plants: fakePlants(new Map(ids.map((id) => [id, { id, name: 'Ficus', tag: 'tree' }]))) });
};

/** Dialogs that scroll sideways. */
const WIDER_THAN_IT_SHOWS = `[...document.querySelectorAll('dialog')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ id }) => id)`;

const colors = [
  ['light', 'none'],
  ['light', 'active'],
  ['dark', 'none'],
  ['dark', 'active'],
] as const;

describe.each([320, 390, 1440].flatMap((width) => colors.map(([scheme, forced]) => [width, scheme, forced] as const)))(
  '%i pixels wide and %s, with forced colours %s',
  (width, colorScheme, forcedColors) => {
    test('are accessible in all their states and no wider than the screen', async () => {
      const server = await start();
      const look = { viewport: { width, height: 844 }, colorScheme, forcedColors };
      const { page } = await openPlants(server.url, TOKEN, look);
      const pressInDialog = (name: string) => dialog(page).getByRole('button', { name, exact: true }).click();
      const isFine = async () => {
        expect(await violations(page)).toEqual([]);
        expect(await smallTargets(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        expect(await page.evaluate(WIDER_THAN_IT_SHOWS)).toEqual([]);
      };
      await isFine();
      await press(page, 'Import');
      await isFine();
      await drop(page, 'empty.csv', '[" "]');
      await says(page, 'This list is empty.');
      await isFine();
      await drop(page, 'plants.csv', JSON.stringify([LIST]));
      await says(page, 'The first line names the columns');
      await dialog(page).getByLabel('the name').selectOption('Bezeichnung');
      await dialog(page).getByText('Monstera').waitFor();
      await isFine();
      await dialog(page).getByLabel('the id').selectOption('Nummer');
      await dialog(page).getByLabel('the tag').selectOption('Art');
      await dialog(page).getByText('Zimmerpflanze').waitFor();
      await isFine();
      await page.route(/import\?/, () => {});
      await pressInDialog('Import');
      await says(page, 'Importing …');
      await isFine();
      await pressInDialog('Stop');
      await says(page, 'Import stopped');
      await isFine();
      await page.unroute(/import\?/);
      await pressInDialog('Continue');
      await says(page, 'Import finished');
      await isFine();
      await pressInDialog('Close');
      await press(page, 'Download');
      await isFine();
      await pressInDialog('Download');
      await says(page, 'Some ids have more than 15 digits.');
      await isFine();
    });
  },
);
