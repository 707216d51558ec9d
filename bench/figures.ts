import { writeFigures } from './harness/results.ts';

/* npm run bench -- figures takes what the files of results have over into the documents. */
writeFigures();
