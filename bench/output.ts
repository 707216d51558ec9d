import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes figures beside this file, with four significant digits and one line for each innermost object. */
export function writeJson(file: string, value: object): void {
  const rounded = (_key: string, member: unknown) =>
    typeof member === 'number' && !Number.isInteger(member) ? Number(member.toPrecision(4)) : member;
  const text = JSON.stringify(value, rounded, 2);
  writeText(file, `${text.replace(/[{[][^{}[\]]*[}\]]/g, (innermost) => innermost.replace(/\s*\n\s*/g, ' '))}\n`);
}

export function writeText(file: string, text: string): void {
  writeFileSync(join(import.meta.dirname, file), text);
  console.log(`wrote bench/${file}`);
}
