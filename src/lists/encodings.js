/* The encodings of lists. The user supplies what cannot be detected. The command imports this folder, and the page gets it. */

/** An error that asks for an option, since the list does not show it. @param {'encoding' | 'sheet' | 'columns' | 'ids-from'} option @param {string} why */
export const unclear = (option, why) => new Error(why, { cause: option });

/** Bytes of the largest list that is read: two million plants. */
export const LIST_BYTES_MAX = 100 * 1024 ** 2;

const MARKS = /** @type {const} */ ([
  ['utf-8', 0xef, 0xbb, 0xbf],
  ['utf-16le', 0xff, 0xfe],
  ['utf-16be', 0xfe, 0xff],
]);
/** What TextDecoder reads besides UTF-8, the most frequent first. In encodings of a single byte, nearly all bytes are valid. */
const ENCODINGS =
  `windows-1252 macintosh windows-1250 windows-1251 iso-8859-2 koi8-r shift_jis euc-jp gb18030 big5 euc-kr
  iso-2022-jp utf-16le utf-16be windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 windows-874
  iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15
  iso-8859-16 koi8-u x-mac-cyrillic ibm866`.split(/\s+/);
const SINGLE_BYTE = /^(windows|mac|iso-8859|koi8|x-mac|ibm)/;
/** The most common encoding of lists in each language; windows-1252 in others. */
const LANGUAGES = Object.entries({
  'windows-1250': 'pl cs hu sk hr sl ro',
  'windows-1251': 'ru uk bg sr be',
  gb18030: 'zh',
  shift_jis: 'ja',
});

/** The end-of-file mark of DOS (Ctrl-Z). */
const END_OF_DOS = '\x1a';

const decode = (/** @type {Uint8Array} */ bytes, encoding = 'utf-8') =>
  new TextDecoder(encoding, { fatal: true }).decode(bytes);

/** The encodings in which the first line beyond ASCII is valid, with that line. The usual one of the language comes first. */
export function fittingEncodings(/** @type {Uint8Array} */ bytes, language = 'en') {
  const at = bytes.findIndex((octet) => octet >= 0x80 || octet === 0 || octet === 0x1b);
  const start = bytes.lastIndexOf(0x0a, at) + 1;
  const line = bytes.subarray(start, start + 100);
  const end = line.findIndex((octet) => octet === 0x0a || octet === 0x0d);
  const usual = LANGUAGES.flatMap(([encoding, codes]) => (codes.includes(language.slice(0, 2)) ? encoding : []));
  return [...new Set([...usual, ...ENCODINGS])].flatMap((encoding) => {
    try {
      const sample = decode(line.subarray(0, end < 0 ? line.length : end), encoding);
      // These remain where UTF-16 or iso-2022-jp is read in another encoding.
      return /[\0\x80-\x9f]|\p{Cc}(\$[@B]|\([BJ])/u.test(sample) ? [] : { encoding, sample };
    } catch {
      return [];
    }
  });
}

/**
 * The text of a list: by its byte order mark, in UTF-8 where it is valid, else in the encoding that the person says.
 *
 * @param {Uint8Array} bytes
 * @param {string} [choice] as TextDecoder calls it
 * @throws Error in words if it cannot be that, or is no list
 */
export function decodeList(bytes, choice) {
  if (bytes.length > LIST_BYTES_MAX) throw new Error(`a list has at most ${LIST_BYTES_MAX >> 20} MiB: split it`);
  if ([0x504b0304, 0xd0cf11e0].includes(bytes.subarray(0, 4).reduce((start, byte) => 256 * start + byte, 0)))
    throw new Error('this is a workbook, as .ods and .xls are: save it as .xlsx, or as CSV, in Excel as "CSV UTF-8"');
  const [mark] = MARKS.find(([, ...octets]) => octets.every((octet, n) => bytes[n] === octet)) ?? [];
  const encoding = mark ?? choice ?? 'utf-8';
  const question = (/** @type {string} */ why) => {
    const examples = fittingEncodings(bytes).map(({ encoding, sample }) => `${encoding}: ${sample}`);
    const how = 'iconv -f CP850 -t UTF-8 converts a list of DOS';
    return unclear('encoding', `${why}. It may be in\n${examples.slice(0, 8).join('\n')}\n${how}`);
  };
  let text = '';
  try {
    text = decode(bytes, encoding);
  } catch {
    throw question(`the list is not in ${encoding}`);
  }
  const isUtf = encoding.startsWith('utf');
  // UTF-16 and iso-2022-jp are valid UTF-8, and encodings of a single byte have a character for each.
  const control = text.search(isUtf ? /\0|\p{Cc}\$[@B]/u : /[\0\x80-\x9f]/);
  if (control >= 0)
    throw question(`line ${lineAt(text, control)} has control characters, so the list is not in ${encoding}`);
  if (SINGLE_BYTE.test(encoding)) refuseMixed(bytes, encoding);
  return { text: text.endsWith(END_OF_DOS) ? text.slice(0, -1) : text, encoding };
}

const lineAt = (/** @type {string} */ text, /** @type {number} */ at) => text.slice(0, at).split('\n').length;

/** @throws Error if some lines of a list in an encoding of a single byte are UTF-8, and others are not */
function refuseMixed(/** @type {Uint8Array} */ bytes, /** @type {string} */ encoding) {
  const utf8 = new TextDecoder().decode(bytes);
  for (const { 0: run, index } of utf8.matchAll(/(?<![^\0-\x7f])[^\0-\x7f\uFFFD]+(?![^\0-\x7f])/g)) {
    // Whole words may be valid by chance, but then they are letters.
    if (/^\p{L}+$/u.test(decode(new TextEncoder().encode(run), encoding))) continue;
    throw new Error(`line ${lineAt(utf8, index)} is UTF-8, and other lines are not: the list is in two encodings`);
  }
}
