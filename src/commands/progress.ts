import { clearLine, cursorTo } from 'node:readline';
import { entryCount, type Tally } from '../adapters/import/import-plants.ts';

export interface Progress {
  readonly plants: number;
  /** The part that is done, from 0 to 1; undefined if unknown. */
  readonly part: number | undefined;
}

/** Milliseconds between updates on a terminal, and between lines elsewhere. */
const REDRAW_INTERVAL = 250;
const LOG_INTERVAL = 5_000;
const BAR_WIDTH = 24;
/** For a terminal that does not report its width. */
const DEFAULT_COLUMNS = 80;

/**
 * Shows the progress of an import or export: a bar that is redrawn on a terminal, a line every few seconds elsewhere.
 *
 * @returns a function that stops it and removes the bar
 */
export function showProgress(read: () => Progress, output: NodeJS.WriteStream): () => void {
  const start = performance.now();
  let last = { plants: 0, time: start };

  function text(): string {
    const now = performance.now();
    const progress = read();
    if (progress.plants > last.plants) last = { plants: progress.plants, time: now };
    return progressText(progress, (now - start) / 1_000, (now - last.time) / 1_000);
  }
  function erase(): void {
    clearLine(output, 0);
    cursorTo(output, 0);
  }
  function redraw(): void {
    erase();
    output.write(text().slice(0, (output.columns || DEFAULT_COLUMNS) - 1));
  }

  const timer = output.isTTY
    ? setInterval(redraw, REDRAW_INTERVAL)
    : setInterval(() => output.write(`${text()}\n`), LOG_INTERVAL);
  return () => {
    clearInterval(timer);
    if (output.isTTY) erase();
  };
}

/** @param seconds since the start @param idleSeconds since the last plant was done */
export function progressText({ plants, part }: Progress, seconds: number, idleSeconds: number): string {
  const parts = [`${formatCount(plants)} plants`, `${formatCount(plants / seconds)}/s`];
  if (part !== undefined) {
    const done = Math.floor(part * BAR_WIDTH);
    parts.unshift(`[${'='.repeat(done)}${' '.repeat(BAR_WIDTH - done)}] ${Math.floor(part * 100)} %`);
    if (part > 0) parts.push(`${duration((seconds * (1 - part)) / part)} left`);
  }
  if (idleSeconds >= 3) parts.push(`nothing new for ${duration(idleSeconds)}`);
  return parts.join(', ');
}

/** What was done in all. @param seconds that it took */
export function totalText(plants: number, seconds: number): string {
  return `${formatCount(plants)} plants in ${seconds.toFixed(1)} s, ${formatCount(plants / seconds)}/s`;
}

/** The result of an import as a table for people. @param seconds its duration */
export function summary(tally: Tally, created: number, seconds: number): string {
  const { stored, conflicting, invalid } = tally;
  const rows: [name: string, count: number][] = [
    ['created', created],
    // A plant created after its call timed out does not count as stored.
    ['already there', Math.max(stored - created, 0)],
    ['conflicting', conflicting],
    ['invalid', invalid],
  ];
  const width = Math.max(...rows.map(([, count]) => formatCount(count).length));
  const table = rows.map(([name, count]) => `${name.padEnd(13)}  ${formatCount(count).padStart(width)}`);
  return [totalText(entryCount(tally), seconds), ...table].join('\n');
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** As `1:02:03` or `2:03`. */
function duration(seconds: number): string {
  const rounded = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(rounded / 3_600), Math.floor(rounded / 60) % 60];
  const tail = String(rounded % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}
