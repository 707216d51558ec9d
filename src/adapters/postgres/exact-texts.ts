import type { messages, PGlite } from '@electric-sql/pglite';

/** U+FEFF in UTF-8. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** A message of Postgres's protocol begins with a type of one byte and a length of four, which includes itself. */
const TYPE = 1;
const HEADER = TYPE + 4;

/**
 * Makes PGlite return every text as it is stored. Its own decoder drops a leading U+FEFF before any custom parser runs,
 * so rows are decoded again if Postgres has sent one.
 */
export function readTextsExactly(pglite: PGlite): void {
  // All of PGlite's queries go through this method.
  pglite.execProtocolStream = async (message, options) => {
    const { messages, data } = await pglite.execProtocol(message, options);
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    if (bytes.includes(BYTE_ORDER_MARK)) decodeRows(messages, bytes);
    return messages;
  };
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
