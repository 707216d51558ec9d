/** Texts that JSON escapes, or that could be taken for an end of a text, a record or a line. */
export const ODD = [
  ...Array.from({ length: 0x1f }, (_, n) => String.fromCharCode(n + 1)),
  ...['\u007F', '\u0085', '\u2028', '\u2029', '\uFEFF', '\uFFFF', '\u{1F33F}', '\u{10FFFF}'],
  ...["'", "''", '{a,b} %s $1 :x ? _% NULL -- /*', '\uFEFFtree', '\r\n', '', ',', 'null', '/', '<'],
  ...['"', '\\', '\\"', '\\\\', '\\n', '\\u0000', '\\u2028'],
  ...[',"tag":null}', '"tag":null}', ',"tag":null}\n{"id":1', '","tag":null}', '\\,"tag":null}', '{"id":-1,"name":"'],
];
/** As long as tags may be. */
export const LONG = ['x'.repeat(200), `${'x'.repeat(199)}y`, '\u{1F33F}'.repeat(200)];
