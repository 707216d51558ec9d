import leven from 'leven';

/** Letters that were inserted, left out or replaced. */
const MAX_EDITS = 2;

/** Longer paths are compared with none, so that no client chooses how long that takes. */
const MAX_LENGTH = 100;

/**
 * The path that a client may mean by another one: with a slash too many, a letter of the other case, or nearly the same.
 *
 * @param paths in the syntax of @koa/router, with parameters such as `:id`
 * @returns the one of them that is nearest, as the documentation writes it
 */
export function nearPath(path: string, paths: readonly string[]): string | undefined {
  if (path.length > MAX_LENGTH) return undefined;
  const segments = segmentsOf(path);
  const edits = paths.map((one) => editsBetween(segmentsOf(one), segments));
  const fewest = Math.min(...edits);
  return fewest > MAX_EDITS ? undefined : paths[edits.indexOf(fewest)]?.replace(/:(\w+)/g, '{$1}');
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function editsBetween(known: readonly string[], sent: readonly string[]): number {
  if (known.length !== sent.length || known.length === 0) return Number.POSITIVE_INFINITY;
  const edits = known.map((segment, at) =>
    segment.startsWith(':') ? 0 : leven(segment, (sent[at] ?? '').toLowerCase()),
  );
  return edits.reduce((sum, one) => sum + one, 0);
}
