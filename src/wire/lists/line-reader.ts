import type { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant, Plant } from '../../domain/plant.ts';
import type { Separator } from './csv-cells.ts';
import type { Line } from './lines.ts';

/** What a column of a list means; empty if nothing. */
export type Column = 'id' | 'name' | 'tag' | '';

export interface CsvLayout {
  readonly columns: readonly Column[];
  readonly separator: Separator;
}

/** A record of a list: a plant, or why it is none. */
export type ListRecord = {
  /** Its first and its last physical line in the body, from 1. */
  readonly line: number;
  readonly lastLine: number;
  /** If it is known. */
  readonly id: bigint | undefined;
} & (
  | { readonly plant: NewPlant; readonly refusal?: undefined }
  | { readonly plant?: undefined; readonly refusal: Pick<PlantStoreError, 'code' | 'message'> }
);

/** Gives the plant in a line; calls `noteId` as soon as it knows the id. @throws PlantStoreError if there is none */
export type ReadPlant = (noteId: (id: bigint) => void) => Plant;

/** Reads the lines of one list that are not blank. */
export interface LineReader {
  /** Whether a byte order mark at the beginning is text. */
  readonly keepsMark: boolean;
  /** Whether an open quote joins the next line with the lines behind it. */
  joinsLines(): boolean;
  /** Of CSV, once its line of names has been read. */
  layout(): CsvLayout | undefined;
  /** @returns undefined if the line has no record @throws PlantStoreError if the list is refused as a whole */
  read(line: Line, recordOf: (read: ReadPlant) => ListRecord): ListRecord | undefined;
}

export interface ReaderOptions {
  /** What the columns of CSV are, in place of a line that names them, and what separates its cells. */
  readonly columns?: readonly Column[] | undefined;
  readonly separator?: Separator | undefined;
  /** Whether the plants are numbered: the list has no ids. */
  readonly isNumbered: boolean;
  /** Whether they replace others, so that a tag that is missing by mistake would remove one. */
  readonly replaces: boolean;
  /** Called with the name of a column or member that means nothing. */
  readonly ignore: (name: string) => void;
}
