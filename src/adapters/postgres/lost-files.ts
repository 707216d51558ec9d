import { statSync } from 'node:fs';

interface Files {
  /** Those that must be there. */
  readonly required: readonly string[];
  /** Those that may be missing, but must not be others. */
  readonly optional: readonly string[];
}

/**
 * Remembers which files are at these paths, by device and inode.
 *
 * @returns a function that returns the path of one that has been deleted or replaced since. It takes some microseconds
 * and is synchronous, so that what is called next finds the files just as they were seen.
 */
export function sameFiles({ required, optional }: Files): () => string | undefined {
  const remembered = [...required, ...optional].map((path) => ({ path, file: identity(path) }));
  return () =>
    remembered.find(({ path, file }) => {
      const now = identity(path);
      return now === undefined ? !optional.includes(path) : now !== file;
    })?.path;
}

/** Undefined if there is no file, or none that can be reached. */
function identity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
