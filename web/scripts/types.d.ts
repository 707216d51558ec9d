/* The types of the page's scripts, which browsers run as they are. */

declare global {
  /** TC39 proposal-json-parse-with-source, which is not in TypeScript's types yet. */
  interface JSON {
    parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
  }
}

export interface Plant {
  id: bigint;
  name: string;
  tag?: string | undefined;
}

export type Change = Plant | { id: bigint; deleted: true };

/** A text, or its beginning and its number of characters. */
export type Shown = string | { start: string; length: number };

/** A plant as a list keeps it. */
export interface Row {
  id: bigint;
  name: Shown;
  tag: Shown | undefined;
  /** Whether it has changed since it was shown. */
  isFresh?: boolean;
}

/** Which plants a list has: those with this tag whose names contain this text, from this id on, in this order of ids. */
export interface View {
  order?: 'desc' | undefined;
  tag?: string | undefined;
  name?: string | undefined;
  from?: bigint | undefined;
}

export interface TagCount {
  tag: string;
  count: number;
}

/** Tags that are offered in a place of the page, for a field. */
export interface TagChoice {
  place: string;
  field: HTMLInputElement | HTMLTextAreaElement;
  isChoice(tag: string): boolean;
  choose(tag: string): void;
}

export type TagChoices = ReturnType<typeof import('./tag-choices.js').tagChoices>;
export type PlantList = ReturnType<typeof import('./table/plants.js').plantList>;
export type Selection = ReturnType<typeof import('./table/selection.js').rowSelection>;

/** Gets what keeps a response away, in words, and undefined once there is one. */
export type Trouble = (problem?: string) => void;

/** Says what is wrong, in an element of the page. */
export type Failed = (error: unknown, where: string) => void;

export interface Request {
  body?: string | Uint8Array<ArrayBuffer> | null;
  /** Of the body, if it is not JSON. */
  type?: string;
  ifMatch?: string;
  signal?: AbortSignal;
  trouble?: Trouble;
  /** Milliseconds for the first attempt. */
  timeout?: number;
  /** A member of the service's response, unless it is a plant: that of a proxy may be JSON, too. */
  has?: string;
  /**
   * Whether a response ends the attempts, by its status and the number of its error; a 401 never does. A connection that
   * is lost after a long time counts as 408.
   */
  ends?(status: number, number: number): boolean;
}

/** @throws Error in words, with its number as the cause; the reason of the signal */
export type Send = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  /** Relative to the page, which may be behind a proxy that serves it under a prefix. */
  path: string | ((attempt: number) => string),
  request?: Request,
) => Promise<{ body: unknown; headers: Headers }>;

/** Makes an element. Texts become text nodes, never HTML. */
export type Make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]>,
  ...children: (Node | string)[]
) => HTMLElementTagNameMap[Tag];
