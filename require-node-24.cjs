/* Preloaded by the npm scripts and readable by any Node.js: an old one would only say that it knows no .ts files. */
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Plant Store needs Node.js 24 or newer; this is ${process.version}. ` +
      'Run npm ci without --omit=optional (it brings Node.js 24 on x64 Linux with glibc), or install it from https://nodejs.org.',
  );
  process.exit(1);
}

/*
 * What V8 has compiled is kept for the next start, which needs three quarters of the time and less memory. Not in /tmp,
 * where another user could put code for this one. NODE_COMPILE_CACHE names another folder; one that cannot be written is none.
 */
require('node:module').enableCompileCache(require('node:path').join(__dirname, 'node_modules/.cache/plant-store'));
