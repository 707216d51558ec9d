/* What each generated client is asked to do. Its ids have the type that the generator has made of the document. */

export interface Plant<Id> {
  readonly id: Id;
  readonly name: string;
  readonly tag?: string;
}

export interface PlantClient<Id> {
  create(plant: Plant<Id>): Promise<unknown>;
  find(id: Id): Promise<unknown>;
  /** The ids of those whose names have `fic` in them. */
  list(after: Id): Promise<unknown>;
  change(id: Id, plant: { readonly name: string }): Promise<unknown>;
  remove(id: Id): Promise<unknown>;
  changes(): Promise<readonly ({ id: Id } | { id: Id; deleted: true })[] | undefined>;
  /** The number of the error that finding a plant gets. */
  errorOf(id: Id): Promise<number | undefined>;
}

export type Connect<Id> = (url: string, token: string, fetch: typeof globalThis.fetch) => PlantClient<Id>;
