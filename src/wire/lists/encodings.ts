import { isUtf8 } from 'node:buffer';
import { PlantStoreError } from '../../domain/errors.ts';
import { type Encoding, encodingFinder, markOf, refuseWorkbook } from './encoding-finder.js';

export const encodings: readonly Encoding[] = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'];

/** Two ASCII characters in UTF-16. */
const UTF_16 = /^([^\0]\0[^\0]\0|\0[^\0]\0[^\0])/;

interface EncodedList {
  readonly isCsv: boolean;
  /** As the client says; undefined if it does not. */
  readonly encoding?: Encoding | undefined;
  readonly continued: boolean;
  readonly more: boolean;
}

/**
 * Decodes a list, without a byte order mark at its beginning. If nothing says its encoding, CSV is UTF-8 if it is valid,
 * and Windows-1252 if no character outside ASCII is valid UTF-8.
 *
 * @returns `text` in UTF-8, whose lines are perhaps invalid if the encoding is UTF-8, and the function `octets`, which says
 * from how many octets of the body the first octets of the text were made, given their number
 * @throws PlantStoreError `invalid_plant` if the encoding is another than the client says, or there are two
 */
export function decodedList(body: Buffer, { isCsv, encoding: given, continued, more }: EncodedList) {
  const [marked, { length = 0 } = []] = (continued ? undefined : markOf(body)) ?? [];
  const bytes = body.subarray(length);
  if (!continued) refuseOtherFiles(body, given ?? marked);
  if (marked !== undefined && given !== undefined && marked !== given) {
    throw invalid(`the list begins with the byte order mark of ${marked}, and not of ${given}: leave the encoding out`);
  }
  const encoding = given ?? marked ?? (isCsv && !continued ? foundEncoding(bytes, !more) : 'utf-8');
  if (!isCsv && encoding !== 'utf-8') throw invalid(`NDJSON must be in utf-8, not in ${encoding}`);
  if (encoding === 'utf-8') return { text: bytes, encoding, octets: (end: number) => end && end + length };
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  const text = Buffer.from(decoder.decode(bytes, { stream: more }));
  if (encoding !== 'windows-1252') refuseHalves(bytes, encoding, more);
  const unit = encoding === 'windows-1252' ? 1 : 2;
  const octets = (end: number) => end && length + unit * text.toString('utf8', 0, end).length;
  return { text, encoding, octets };
}

function foundEncoding(bytes: Buffer, isEnd: boolean): Encoding {
  if (isUtf8(bytes)) return 'utf-8';
  const finder = encodingFinder();
  finder.add(bytes);
  return inWords(() => finder.found(isEnd));
}

function refuseOtherFiles(body: Buffer, encoding = 'utf-8'): void {
  inWords(() => refuseWorkbook(body));
  if (encoding !== 'utf-8' || !UTF_16.test(body.toString('latin1', 0, 4))) return;
  throw invalid('line 1: the list is in UTF-16, without a byte order mark: in Excel, save the list as "CSV UTF-8"');
}

/** What clients find out with the same words. */
function inWords<T>(find: () => T): T {
  try {
    return find();
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

/** TextDecoder replaces them. With `more`, the other half of the last one is in what follows. */
function refuseHalves(bytes: Buffer, encoding: Encoding, more: boolean): void {
  const even = bytes.subarray(0, bytes.length & ~1);
  const text = (encoding === 'utf-16be' ? Buffer.from(even).swap16() : even).toString('utf16le');
  const lone = text.search(/\p{Surrogate}/u);
  const at = lone < 0 && even.length < bytes.length ? text.length : lone;
  if (at < 0 || (more && at >= text.length - 1)) return;
  throw invalid(`line ${text.slice(0, at).split('\n').length}: a character of ${encoding} is cut in half`);
}

const invalid = (message: string) => new PlantStoreError('invalid_plant', message);
