import { clearLine, cursorTo } from 'node:readline';

/** Milliseconds between updates on a terminal, and between lines elsewhere. */
const [REDRAW_MS, LINE_MS] = [250, 5_000];

/**
 * Shows the progress of a command: one line that is redrawn on a terminal, a line every few seconds elsewhere.
 *
 * @returns a function that ends it, and removes the line from a terminal
 */
export function showProgress(text: () => string, output: NodeJS.WriteStream): () => void {
  function redraw(line = ''): void {
    clearLine(output, 0);
    cursorTo(output, 0);
    output.write(line);
  }
  const timer = output.isTTY
    ? setInterval(() => redraw(text()), REDRAW_MS)
    : setInterval(() => output.write(`${text()}\n`), LINE_MS);
  return () => {
    clearInterval(timer);
    if (output.isTTY) redraw();
  };
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en');
}
