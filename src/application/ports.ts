import type { NewPlant, Stored } from '../domain/plant.ts';

/*
 * What the application needs of a store. Times are milliseconds as performance.now() counts them. Unless it says otherwise,
 * a method MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now; any other rejection is a
 * defect.
 */

/**
 * Whether the stored plant may be changed. It is asked of every plant that is found, of one with equal content, too, and
 * again if that plant changes meanwhile: only its last answer counts, and is about the plant of the outcome.
 */
export type Condition = (stored: NewPlant) => boolean;

/** What is wanted of an id. */
export interface Write {
  readonly id: bigint;
  /** What is to be stored. */
  readonly target: NewPlant | 'deleted';
  /** Whether the plant is stored if nothing has the id. */
  readonly adds: boolean;
  /** Whether it takes the place of a plant that is found; a deleted plant stays deleted. */
  readonly replaces: Condition;
  /**
   * When nobody waits for the outcome any more: the store must not begin to change a plant later. In a list the last item
   * has the latest time. If it is not given, the store has a limit of its own.
   */
  readonly until?: number;
}

/** What was stored under an id before a write, and what is stored after it, durably; the same if it has no effect. */
export interface Written {
  readonly before: Stored;
  readonly after: Stored;
}

/** An outcome for each item of a list, in its order: a promise where it takes longer than others, or has failed. */
export type Outcomes<T> = readonly (T | Promise<T>)[];

/** What a database implements: lists of plants in, and an outcome for each. */
export interface PlantStore extends ChangeFeed {
  /**
   * Writes the items of a list, each as a whole or not at all; several that add one id in their order, and others after
   * them. Writing one again is safe, whatever its outcome was. Of concurrent writes that add one id exactly one stores its plant.
   *
   * An outcome MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now, or if what is stored
   * does not show whether the write was done: it then takes effect at most once, at any later time, and a change only on
   * the record that was found. Any other rejection is a defect.
   *
   * @param isBackground whether others go first
   */
  write(writes: readonly Write[], isBackground?: boolean): Promise<Outcomes<Written>>;
  /** Finds what is stored under each id. Every call that resolved before is seen. @param until when to give up */
  find(ids: readonly bigint[], until: number): Promise<Outcomes<Stored>>;
  /**
   * Reads the first plants of the range, up to `count`. It looks at some thousand rows only, so that a search, or deleted
   * plants, may leave none although there are more.
   */
  scan(range: PlantRange, count: number): Promise<PlantBatch>;
  /**
   * Reads the tags after one, in the order of their UTF-8, as many as one short statement can, looking at 1,000 plants of
   * each; without those of earlier versions that have more than 800 bytes. MUST also reject with PlantStoreError
   * `tags_unavailable` if there is no index on them.
   */
  readTags(after: string | undefined, count: number): Promise<Tags>;
}

/** What the use cases do with single plants, which reach the store in lists; see `write` and `find` of `PlantStore`. */
export interface SinglePlants {
  /**
   * Stores the plant unless its id is taken. Resolves to `created`, or to what holds the id: an existing record, unchanged,
   * or `deleted` if that plant was deleted.
   */
  add(plant: NewPlant): Promise<'created' | NewPlant | 'deleted'>;
  find(id: bigint): Promise<Stored>;
  /**
   * Replaces the plant that has the same id, unless it is the same already or the condition is not met. Resolves to what is
   * stored then.
   */
  replace(plant: NewPlant, condition?: Condition): Promise<Stored>;
  /** Deletes the plant in the same way. Its id stays taken. */
  remove(id: bigint, condition?: Condition): Promise<Stored>;
}

/** A part of the store: the plants whose ids are from `from` to `to`, with the tag and the text, if there are any. */
export interface PlantRange {
  readonly from: bigint;
  readonly to: bigint;
  readonly tag?: string | undefined;
  /** In their names, letters in either case: a search. Not empty. */
  readonly name?: string | undefined;
  /** In which order of ids it is read; ascending if it is not given. */
  readonly order?: Order | undefined;
}

export type Order = 'asc' | 'desc';

/** The first plants of a range, in its order. */
export interface PlantBatch {
  readonly plants: readonly NewPlant[];
  /** The last id that was looked at, also of what is not among them; undefined if there was none. */
  readonly lastId: bigint | undefined;
  /** Whether the range has no more plants after these. */
  readonly isLast: boolean;
}

export interface Tags {
  readonly tags: readonly { readonly tag: string; readonly count: number; readonly isExact: boolean }[];
  /** The last of them, if there may be more. */
  readonly next: string | undefined;
}

/** A place in the feed of changes: just after the row that this transaction wrote, with this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** The newest state of a plant, or that it was deleted. */
export type Change = NewPlant | { readonly id: bigint; readonly deleted: true };

/** A part of the feed of changes. */
export interface Changes {
  /** In the order of the feed. */
  readonly changes: readonly Change[];
  /** Where the feed goes on. Opaque, without characters that a URL or JSON would escape. */
  readonly next: string;
  /** Whether nothing lies beyond, except what an open transaction still holds back: a first walk is complete. */
  readonly atEnd: boolean;
  /** For how long an open transaction has held back what came after it, if that is long. */
  readonly heldBackSeconds?: number;
}

export interface ChangesQuery {
  /** Where the consumer is: the `next` of what it read last; undefined to begin, `now` to begin at the end. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Milliseconds to wait for a change if there is none. */
  readonly wait: number;
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

export interface ChangeFeed {
  /**
   * Reads the newest state of each plant that was created, changed or deleted after a position, or at all, in an order
   * that never changes: at most `limit` of them. Nothing is ever left out. If nothing is
   * new, waits for a change; resolves to nothing new at the end of `wait`, at the signal, and when the service shuts
   * down.
   *
   * MUST also reject with PlantStoreError `unknown_position` if the position is not its own, `cursor_expired` if what
   * came after it is not known any more, `changes_unavailable` if this store has no such order.
   */
  readChanges(query: ChangesQuery): Promise<Changes>;
}
