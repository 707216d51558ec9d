import { writeFigures } from './figures.ts';

/* npm run bench:figures: brings the figures in the documents up to date with the files that the benches have written. */

writeFigures();
