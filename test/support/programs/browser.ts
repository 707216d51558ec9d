import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/**
 * Starts the Chromium of this machine, without a window: the one that CHROMIUM names, else the first on PATH.
 *
 * @throws Error if there is none
 */
export function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM || programOnPath();
  if (executablePath === undefined) {
    throw new Error(`no browser: install chromium, or let CHROMIUM name one (looked for ${NAMES.join(', ')} on PATH)`);
  }
  // Chromium's sandbox refuses to run as root.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

function programOnPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
