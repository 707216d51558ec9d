/* What a reader of a Markdown document can follow or paste. */

export interface Block {
  /** What a fence says, such as `sh`; `indented` if it has none. */
  readonly language: string;
  readonly text: string;
}

export const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;
const INDENTED = /(?<=\n\n)(?: {4}.*\n)+/g;

/** Its blocks of code, in order. */
export function codeBlocks(document: string): Block[] {
  const found: (Block & { at: number })[] = [];
  for (const { index, 1: language = '', 2: text = '' } of document.matchAll(FENCED))
    found.push({ at: index, language, text });
  // An indented line within a fence is none.
  const unfenced = document.replace(FENCED, (block) => block.replace(/^/gm, '|'));
  const added = (index: number) => unfenced.slice(0, index).match(/^\|/gm)?.length ?? 0;
  for (const { index, 0: block } of unfenced.matchAll(INDENTED)) {
    found.push({ at: index - added(index), language: 'indented', text: block.replace(/^ {4}/gm, '') });
  }
  return found.toSorted((a, b) => a.at - b.at);
}

/** The statements of each of its blocks of SQL. */
export function sqlStatements(document: string): string[][] {
  const blocks = codeBlocks(document).filter(({ language }) => language === 'sql');
  return blocks.map(({ text }) => text.split(/(?<=;)\n/).filter((statement) => statement !== ''));
}

/** The cells of the rows of the table whose first column is headed so. */
export function tableRows(document: string, heading: string): string[][] {
  const [table = ''] = new RegExp(`(?<=^\\| ${heading} \\|.*\\n\\|[ |-]*\\n)(?:\\|.*\\n)+`, 'm').exec(document) ?? [];
  const cellsOf = (row: string) => row.split('|').map((cell) => cell.trim());
  const rows = table.split('\n').slice(0, -1);
  return rows.map((row) => cellsOf(row).slice(1, -1));
}
