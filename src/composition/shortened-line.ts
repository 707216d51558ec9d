/**
 * Shortens a line of JSON by cutting its longest strings, such as the path of a request or the stack of an error.
 *
 * @param line one JSON value and a line feed
 * @param most bytes, line feed included; only a line with hundreds of members can remain longer
 */
export function shortenedLine(line: string, most: number): string {
  // UTF-8 has at most three bytes for one of UTF-16's units.
  if (line.length * 3 <= most || Buffer.byteLength(line) <= most) return line;
  let shorter = line;
  for (let longest = most / 2; longest >= 1 && Buffer.byteLength(shorter) > most; longest /= 2) {
    const cut = (_: string, value: unknown) =>
      typeof value === 'string' && value.length > longest ? `${value.slice(0, longest).toWellFormed()}…` : value;
    shorter = `${JSON.stringify(JSON.parse(line, cut))}\n`;
  }
  return shorter;
}
