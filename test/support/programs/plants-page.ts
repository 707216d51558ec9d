import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { TokenVerifier } from '../../../src/application/permissions.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import { fakePlants } from '../fake-plants.ts';
import { startWith } from '../service-process.ts';
import { migratedDatabase } from '../test-database.ts';
import { open, type Visit } from './browser.ts';

/* The page for people in a real Chromium, and the service that serves it. */

export const onPostgres = async () => startWith({ DATABASE_URL: (await migratedDatabase()).url });

/** Opens the page with a token, once it shows the plants and has begun to follow their changes. */
export async function openPlants(url: string, token = TOKEN, options: BrowserContextOptions = {}): Promise<Visit> {
  const visit = await open(`${url}/#token=${encodeURIComponent(token)}`, options);
  await visit.page.getByText('Live', { exact: true }).waitFor();
  return visit;
}

interface Options {
  readonly look?: BrowserContextOptions;
  readonly verifyToken?: TokenVerifier;
}

/** The page of a service in memory with these plants. */
export async function openWith(plants: readonly NewPlant[] = [], { look, ...options }: Options = {}) {
  const stored = new Map<bigint, NewPlant | 'deleted'>(plants.map((plant) => [plant.id, plant]));
  const store = fakePlants(stored);
  const { url } = await startApiServer({ plants: store, ...options });
  return { stored, store, url, ...(await openPlants(url, TOKEN, look)) };
}

/** Answers the question for a token. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await press(page, 'Show the plants');
}

/** The row of a plant. */
export const row = (page: Page, id: bigint | number): Locator => page.locator(`[id="plant-${id}"]`);

/** What puts the table in the order of a column. */
export const head = (page: Page, name: 'Id' | 'Name' | 'Tag'): Locator =>
  page.getByRole('columnheader', { name }).getByRole('button');

/** Waits until this is the row that the keys are for. */
export const isActive = (page: Page, id: bigint | number): Promise<void> =>
  page.locator(`#plants[aria-activedescendant="plant-${id}"]`).waitFor();

export const dialog = (page: Page): Locator => page.getByRole('dialog').first();

/** Fills in the form of the dialog that is open. */
export async function fillIn(page: Page, texts: Partial<Record<'Id' | 'Name' | 'Tag', string>>): Promise<void> {
  for (const [label, text] of Object.entries(texts)) await dialog(page).getByLabel(label, { exact: true }).fill(text);
}

export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

/**
 * Drops a list on the page, whose content is given as an expression for the page's own scripts, as is what is to happen
 * in the same turn of the event loop before it is dropped.
 */
export async function drop(page: Page, name: string, content: string, before = ''): Promise<void> {
  // The page takes no list before its first plants have said what the token permits.
  await page.locator('body.may-create, #rows [id^="plant-"]').first().waitFor();
  await page.evaluate(`(() => {
    ${before};
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(${content}, ${JSON.stringify(name)}));
    const how = { dataTransfer, bubbles: true, cancelable: true };
    for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, how));
  })()`);
}

/** The path of the file that the page saves, and its name. */
export async function saved(page: Page, button: Locator): Promise<{ path: string; name: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { path: await download.path(), name: download.suggestedFilename() };
}

/** Fills in the form of the dialog that is open, and saves it. */
export async function save(page: Page, texts: Parameters<typeof fillIn>[1]): Promise<void> {
  await fillIn(page, texts);
  await press(page, 'Save');
}

export async function addPlant(page: Page, id: bigint | number, name: string, tag = ''): Promise<void> {
  await press(page, 'Add plant');
  await save(page, { Id: `${id}`, Name: name, Tag: tag });
}

/** Opens a plant in the editor, and waits until that shows this. */
export async function openPlant(page: Page, id: bigint | number, shown: Parameters<typeof fillIn>[1]): Promise<void> {
  await row(page, id).getByRole('gridcell').nth(1).click();
  await showsForm(page, shown);
}

/** Waits until the page says this, as an alert or a status. */
export async function says(page: Page, text: string): Promise<void> {
  await page.getByText(text).first().waitFor();
}

/** Waits until the form of the dialog shows this. */
export async function showsForm(page: Page, texts: Partial<Record<'Id' | 'Name' | 'Tag', string>>): Promise<void> {
  for (const [label, text] of Object.entries(texts)) {
    const field = dialog(page).getByLabel(label, { exact: true });
    await eventually(async () => (await field.inputValue()) === text);
  }
}
