import type { messages, PGlite } from '@electric-sql/pglite';
import type { PGliteDialectConfig } from 'kysely';

/** What Kysely needs of PGlite. */
type Client = Exclude<PGliteDialectConfig['pglite'], (...options: never) => unknown>;

/** U+FEFF in UTF-8. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** A message of Postgres's protocol begins with a type of one byte and a length of four, which includes itself. */
const TYPE = 1;
const HEADER = TYPE + 4;

/**
 * Runs Kysely's statements on PGlite by its `execProtocol`, all messages of a statement at once: its `query` calls
 * Postgres six times for each, and returns texts without a leading U+FEFF, since its decoder drops one before any custom
 * parser runs.
 *
 * @param check called before each statement, which rejects with what it throws
 */
export async function pgliteClient(pglite: PGlite, check: () => void): Promise<Client> {
  const { parse, protocol } = await import('@electric-sql/pglite');
  const { serialize } = protocol;
  const ending = Buffer.concat([serialize.describe({ type: 'P' }), serialize.execute({}), serialize.sync()]);

  const query: Client['query'] = (text, parameters = [], options) =>
    // Within a transaction, too: PGlite's own lock for transactions is another one.
    pglite.runExclusive(async () => {
      check();
      const values = parameters.map(textOf);
      const message = Buffer.concat([serialize.parse({ text }), serialize.bind({ values }), ending]);
      const { messages, data } = await pglite.execProtocol(message, { syncToFs: false });
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      if (bytes.includes(BYTE_ORDER_MARK)) decodeRows(messages, bytes);
      const [results] = parse.parseResults(messages, pglite.parsers, options);
      return results as never;
    });

  return {
    query,
    transaction: (work) => pglite.transaction(({ rollback }) => work({ query, rollback })),
    close: () => pglite.close(),
    waitReady: pglite.waitReady,
    get ready() {
      return pglite.ready;
    },
    get closed() {
      return pglite.closed;
    },
  };
}

/** A parameter as Postgres reads it. @throws TypeError for what needs a format of its own, such as a Date */
function textOf(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'object') throw new TypeError('the embedded database takes no objects as parameters');
  return String(value);
}

function decodeRows(parsed: readonly { readonly name: string }[], bytes: Buffer): void {
  let start = 0;
  for (const message of parsed) {
    if (isRow(message)) message.fields = fieldsOf(bytes.subarray(start + HEADER), message.fields.length);
    start += TYPE + bytes.readInt32BE(start + TYPE);
  }
}

function isRow(message: { readonly name: string }): message is messages.DataRowMessage {
  return message.name === 'dataRow';
}

/** https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DATAROW */
function fieldsOf(row: Buffer, count: number): (string | null)[] {
  // The number of fields comes first.
  let at = 2;
  return Array.from({ length: count }, () => {
    const length = row.readInt32BE(at);
    at += 4;
    if (length === -1) return null;
    at += length;
    return row.toString('utf8', at - length, at);
  });
}
