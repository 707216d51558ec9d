import type { Position } from '../../application/ports.ts';
import type { NewPlant } from '../../domain/plant.ts';
import type { FeedEnd } from './change-cursor.ts';

/** The newest state of a plant, and where it stands in the feed. */
export interface FeedRow extends Position {
  readonly stored: NewPlant | 'deleted';
}

/** A part of the feed, and where the feed ends in the same snapshot. */
export interface FeedPart {
  readonly end: FeedEnd;
  readonly rows: readonly FeedRow[];
}

/** What a database implements of the feed. Both reject if there is none, or it cannot be read now. */
export interface FeedReader {
  /** Reads up to `count` rows, of about a mebibyte of text, after a position and up to another one. */
  part(after: Position, count: number, until?: Position): Promise<FeedPart>;
  /** Where the feed ends now: whatever is committed later comes after that. */
  end(): Promise<FeedEnd>;
}
