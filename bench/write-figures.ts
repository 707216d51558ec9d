import { writeChart } from './chart.ts';
import { writeFigures } from './figures.ts';

/* npm run bench:figures: brings the chart and the figures in the documents up to date with what the benches have written. */

writeFigures();
writeChart();
