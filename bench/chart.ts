import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as echarts from 'echarts';
import { type ContenderKey, contenders } from './contenders.ts';
import type { BenchResults } from './figures.ts';
import { writeText } from './output.ts';

const INK = '#333333';
const FONT = 'sans-serif';
/** In pixels; a longer label is broken into lines. */
const LABEL_WIDTH = 180;
/** Who is drawn how: the service stands out, what has no store is for reference only. */
const looks: Readonly<Record<ContenderKey, { color: string; width: number; type: 'solid' | 'dashed' }>> = {
  ours: { color: '#1a7f37', width: 4, type: 'solid' },
  fastify: { color: '#b35900', width: 2.5, type: 'solid' },
  single: { color: '#4a66ac', width: 2.5, type: 'solid' },
  instant: { color: '#8a8a8a', width: 1.2, type: 'dashed' },
  together: { color: '#8a8a8a', width: 1.2, type: 'dashed' },
  bare: { color: '#8a8a8a', width: 1.2, type: 'dashed' },
};

/** Draws results.svg from results.json. */
export function writeChart(): void {
  writeText(
    'results.svg',
    throughputChart(JSON.parse(readFileSync(join(import.meta.dirname, 'results.json'), 'utf8'))),
  );
}

/** Throughput by connections as SVG, on white, so that it can be read on dark pages as well. */
function throughputChart({ machine, settings, summary }: BenchResults): string {
  const counts = [...new Set(summary.map(({ connections }) => connections))];
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 800, height: 480 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: FONT, color: INK },
    title: {
      text: 'Creates per second',
      subtext:
        'solid lines: each one is committed (fsync); dashed lines: nothing is stored\n' +
        `${machine.cores} cores shared with Postgres and the load, median of ${settings.rounds} rounds`,
      left: 24,
      top: 16,
      textStyle: { fontSize: 18, color: INK },
      subtextStyle: { fontSize: 13, lineHeight: 18, color: '#595959' },
    },
    grid: { left: 72, right: LABEL_WIDTH + 24, top: 108, bottom: 64 },
    xAxis: {
      type: 'category',
      data: counts.map(String),
      boundaryGap: false,
      name: 'connections',
      nameLocation: 'middle',
      nameGap: 34,
      nameTextStyle: { fontSize: 13, color: INK },
      axisLabel: { fontSize: 13, color: INK },
    },
    yAxis: {
      type: 'value',
      min: 0,
      axisLabel: { fontSize: 13, color: INK, formatter: (value: number) => value.toLocaleString('en') },
    },
    series: Object.entries(contenders).map(([key, { title }]) => {
      const { color, width, type } = looks[key as ContenderKey];
      return {
        type: 'line',
        silent: true,
        name: title,
        data: summary
          .filter(({ contender }) => contender === key)
          .map(({ requestsPerSecond }) => Math.round(requestsPerSecond)),
        lineStyle: { color, width, type },
        itemStyle: { color },
        symbol: type === 'dashed' ? 'none' : 'circle',
        symbolSize: 7,
        endLabel: {
          show: true,
          formatter: title,
          width: LABEL_WIDTH,
          overflow: 'break',
          color: type === 'dashed' ? '#595959' : color,
          fontSize: 13,
          fontWeight: key === 'ours' ? 'bold' : 'normal',
          minMargin: 8,
        },
        labelLayout: { moveOverlap: 'shiftY' },
      };
    }),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
