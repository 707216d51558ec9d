import { clearLine, cursorTo } from 'node:readline';

interface Progress {
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
 * Shows the progress of a command: a bar that is redrawn on a terminal, a line every few seconds elsewhere.
 *
 * @returns a function that stops it and removes the bar
 */
export function showProgress(read: () => Progress, output: NodeJS.WriteStream): () => void {
  const start = performance.now();
  const text = () => progressText(read(), (performance.now() - start) / 1_000);

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

/** @param seconds since the start */
export function progressText({ plants, part }: Progress, seconds: number): string {
  const parts = [`${formatCount(plants)} plants`, `${formatCount(plants / seconds)}/s`];
  if (part !== undefined) {
    const done = Math.floor(part * BAR_WIDTH);
    parts.unshift(`[${'='.repeat(done)}${' '.repeat(BAR_WIDTH - done)}] ${Math.floor(part * 100)} %`);
    if (part > 0) parts.push(`${duration((seconds * (1 - part)) / part)} left`);
  }
  return parts.join(', ');
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
