import { clearLine, cursorTo } from 'node:readline';

/** How far an import has come. */
export interface Progress {
  readonly plants: number;
  readonly bytes: number;
  /** All there are; undefined if nobody knows. */
  readonly totalBytes: number | undefined;
}

/** Milliseconds between two looks of a person, and between two lines of a log. */
const REDRAW = 250;
const LOG_INTERVAL = 5_000;
const BAR_WIDTH = 24;
/** Of a terminal that does not tell. */
const USUAL_COLUMNS = 80;

/**
 * Shows how an import goes on: a bar that is redrawn on a terminal, a line every few seconds otherwise.
 *
 * @returns a function that ends it, and removes the bar
 */
export function showProgress(look: () => Progress, output: NodeJS.WriteStream): () => void {
  const start = performance.now();
  let last = { plants: 0, time: start };

  function text(): string {
    const now = performance.now();
    const progress = look();
    if (progress.plants > last.plants) last = { plants: progress.plants, time: now };
    return progressText(progress, (now - start) / 1_000, (now - last.time) / 1_000);
  }
  function erase(): void {
    clearLine(output, 0);
    cursorTo(output, 0);
  }
  function redraw(): void {
    erase();
    output.write(text().slice(0, (output.columns || USUAL_COLUMNS) - 1));
  }

  const timer = output.isTTY
    ? setInterval(redraw, REDRAW)
    : setInterval(() => output.write(`${text()}\n`), LOG_INTERVAL);
  return () => {
    clearInterval(timer);
    if (output.isTTY) erase();
  };
}

/** @param seconds since the start, and since the last plant was done */
export function progressText({ plants, bytes, totalBytes }: Progress, seconds: number, idleSeconds: number): string {
  const parts = [`${whole(plants)} plants`, `${whole(plants / seconds)}/s`];
  if (totalBytes) {
    const part = Math.min(bytes / totalBytes, 1);
    const done = Math.floor(part * BAR_WIDTH);
    parts.unshift(`[${'='.repeat(done)}${' '.repeat(BAR_WIDTH - done)}] ${Math.floor(part * 100)} %`);
    if (bytes > 0) parts.push(`${duration((seconds * (1 - part)) / part)} left`);
  }
  if (idleSeconds >= 3) parts.push(`nothing new for ${duration(idleSeconds)}`);
  return parts.join(', ');
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** As `1:02:03` or `2:03`. */
function duration(seconds: number): string {
  const rounded = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(rounded / 3_600), Math.floor(rounded / 60) % 60];
  const tail = String(rounded % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}
