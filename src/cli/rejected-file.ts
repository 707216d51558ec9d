import { closeSync, openSync, writeFileSync } from 'node:fs';

/**
 * The records that were refused, as they were, in UTF-8. The file is created at the first refusal. One of that name, which may
 * be an earlier one that has been corrected since, stays: then it is NAME.2.csv, NAME.3.csv and so on.
 *
 * @param nameOf the name with this number
 * @param head what the file begins with
 */
export function rejectedFile(nameOf: (number: number) => string, head: string) {
  let file: { readonly name: string; readonly descriptor: number } | undefined;

  function open(number: number): NonNullable<typeof file> {
    const name = nameOf(number);
    try {
      // Exclusively, so that no link is followed and nothing is overwritten.
      return { name, descriptor: openSync(name, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return open(number + 1);
    }
  }
  return {
    /** @throws Error if they cannot be written; it shows them */
    add(records: readonly string[]): void {
      if (records.length === 0) return;
      const text = records.map((record) => (record.endsWith('\n') ? record : `${record}\n`)).join('');
      try {
        const begin = file === undefined ? head : '';
        file ??= open(1);
        writeFileSync(file.descriptor, begin + text);
      } catch (error) {
        throw new Error(`These refused records cannot be written (${(error as Error).message}):\n${head}${text}`);
      }
    },
    /** @returns its name, if there are any */
    close(): string | undefined {
      if (file !== undefined) closeSync(file.descriptor);
      return file?.name;
    },
  };
}
