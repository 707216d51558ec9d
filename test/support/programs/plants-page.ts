import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { TokenVerifier } from '../../../src/application/permissions.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import { fakePlants } from '../fake-plants.ts';
import { startWith } from '../service-process.ts';
import { migratedDatabase } from '../test-database.ts';
import { open } from './browser.ts';

/* The page for people in a real Chromium, and the service that serves it. */

export const onPostgres = async () => startWith({ DATABASE_URL: (await migratedDatabase()).url });

export type PlantsPage = ReturnType<typeof plantsPage>;

type Fields = Partial<Record<'Id' | 'Name' | 'Tag', string>>;

/** The page, with what people see and do on it. */
export function plantsPage(page: Page) {
  /** The row of a plant. */
  const row = (id: bigint | number): Locator => page.locator(`[id="plant-${id}"]`);

  const dialog = (): Locator => page.getByRole('dialog').first();

  /** Fills in the form of the dialog that is open. */
  async function fillIn(texts: Fields): Promise<void> {
    for (const [label, text] of Object.entries(texts)) await dialog().getByLabel(label, { exact: true }).fill(text);
  }

  const pressButton = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

  /** Fills in the form of the dialog that is open, and saves it. */
  async function save(texts: Fields): Promise<void> {
    await fillIn(texts);
    await pressButton('Save');
  }

  /** Waits until the form of the dialog shows this. */
  async function showsForm(texts: Fields): Promise<void> {
    for (const [label, text] of Object.entries(texts)) {
      const field = dialog().getByLabel(label, { exact: true });
      await eventually(async () => (await field.inputValue()) === text);
    }
  }

  return Object.assign(page, {
    row,
    dialog,
    fillIn,
    pressButton,
    save,
    showsForm,
    /** What puts the table in the order of a column. */
    head: (name: 'Id' | 'Name' | 'Tag'): Locator => page.getByRole('columnheader', { name }).getByRole('button'),
    /** Waits until this is the row that the keys are for. */
    isActive: (id: bigint | number) => page.locator(`#plants[aria-activedescendant="plant-${id}"]`).waitFor(),
    /** Waits until the page says this, as an alert or a status. */
    says: (text: string) => page.getByText(text).first().waitFor(),
    /** Answers the question for a token. */
    async signIn(token: string): Promise<void> {
      await page.getByLabel('Token', { exact: true }).fill(token);
      await pressButton('Show the plants');
    },
    async addPlant(id: bigint | number, name: string, tag = ''): Promise<void> {
      await pressButton('Add plant');
      await save({ Id: `${id}`, Name: name, Tag: tag });
    },
    /** Opens a plant in the editor, and waits until that shows this. */
    async openPlant(id: bigint | number, shown: Fields): Promise<void> {
      await row(id).getByRole('gridcell').nth(1).click();
      await showsForm(shown);
    },
    /**
     * Drops a list, whose content is given as an expression for the page's own scripts, as is what is to happen in the same
     * turn of the event loop before it is dropped.
     */
    async drop(name: string, content: string, before = ''): Promise<void> {
      // The page takes no list before its first plants have said what the token permits.
      await page.locator('body.may-create, #rows [id^="plant-"]').first().waitFor();
      await page.evaluate(`(() => {
        ${before};
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(${content}, ${JSON.stringify(name)}));
        const how = { dataTransfer, bubbles: true, cancelable: true };
        for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, how));
      })()`);
    },
    /** The path of the file that the page saves, and its name. */
    async saved(button: Locator): Promise<{ path: string; name: string }> {
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return { path: await download.path(), name: download.suggestedFilename() };
    },
  });
}

/** Opens an address of the page in a new window: see `open`. */
export async function openPage(url: string, options?: BrowserContextOptions) {
  const { page, requests } = await open(url, options);
  return { page: plantsPage(page), requests };
}

/** Opens the page with a token, once it shows the plants and has begun to follow their changes. */
export async function openPlants(url: string, token = TOKEN, options?: BrowserContextOptions) {
  const visit = await openPage(`${url}/#token=${encodeURIComponent(token)}`, options);
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
