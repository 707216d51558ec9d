import type { PlantRepository, Tags } from './ports.ts';

interface TagsQuery {
  /** The `next` of the previous result. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/**
 * Lists the tags that plants have, each once.
 *
 * @throws PlantStoreError as the port does
 */
type ListTags = (query: TagsQuery) => Promise<Tags>;

export function listTags({ tags }: Pick<PlantRepository, 'tags'>): ListTags {
  return ({ after, limit, signal }) => tags(after, limit, signal);
}
