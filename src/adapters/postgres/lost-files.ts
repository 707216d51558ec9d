import { statSync } from 'node:fs';

interface Files {
  /** Files that must exist. */
  readonly required: readonly string[];
  /** Files that may be missing but must not be replaced. */
  readonly optional: readonly string[];
}

/**
 * Remembers the files at these paths, by device and inode.
 *
 * @returns a function that returns the path of a file that has been deleted or replaced since. It takes some
 * microseconds and is synchronous, so that the next call finds the files as they were checked.
 */
export function lostFileCheck({ required, optional }: Files): () => string | undefined {
  const remembered = [...required, ...optional].map((path) => ({ path, file: identity(path) }));
  return () =>
    remembered.find(({ path, file }) => {
      const now = identity(path);
      return now === undefined ? !optional.includes(path) : now !== file;
    })?.path;
}

/** Undefined if the file does not exist or cannot be accessed. */
function identity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
