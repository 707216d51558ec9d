/* npm run bench -- NAME [OPTIONS]: each bench describes its options in its first lines. */

const benches: Readonly<Record<string, string>> = {
  creates: 'creates beside other services',
  reads: 'one plant, pages and streams, beside Fastify + pg and COPY',
  search: 'plants by a part of their name',
  changes: 'deletions and changes, followers of the feed, and webhooks',
  import: 'npm run import beside COPY, and a list of ten million plants',
  fairness: 'what an import, a stream, a search, followers and a webhook take from creates and reads',
  overload: '2,000 connections on top of 64',
  growth: 'an empty table, and one of ten million plants',
  edge: 'the edge alone, beside bare node:http, Fastify and Koa with nothing else',
  embedded: 'the embedded database beside Fastify + SQLite',
  citus: '8 shards and 32, on the cluster at CITUS_URL',
  versions: 'two commits, after one beside itself: CPU of creates, reads, lists and imports',
  figures: 'no bench: takes what the files of results have over into the documents',
};

const [name = ''] = process.argv.splice(2, 1);
if (Object.hasOwn(benches, name)) {
  await import(`./${name}.ts`);
} else {
  const list = Object.entries(benches).map(([name, what]) => `  ${name.padEnd(10)}${what}`);
  console.error(`Usage: npm run bench -- NAME [OPTIONS]\n\n${list.join('\n')}`);
  process.exitCode = 1;
}
