import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as echarts from 'echarts';
import { type ContenderKey, contenders } from './contenders.ts';
import type { BenchResults } from './figures.ts';
import { writeText } from './output.ts';
import type { Summary } from './summary.ts';

const INK = '#333333';
const FAINT_INK = '#595959';
const FONT = 'sans-serif';
const WIDTH = 800;
/** In pixels; a longer label is broken into lines. */
const LABEL_WIDTH = 180;
/** Where CPU time is compared. */
const CONNECTIONS = 64;
const POSTGRES_COLOR = '#b9c2cc';

/** Who is drawn how: the service stands out. */
const looks: Readonly<Record<ContenderKey, { color: string; width: number }>> = {
  ours: { color: '#1a7f37', width: 4 },
  fastify: { color: '#b35900', width: 2.5 },
  go: { color: '#0b7c95', width: 2.5 },
  single: { color: '#4a66ac', width: 2.5 },
  bare: { color: '#8a8a8a', width: 2.5 },
};

/** Draws results.svg from results.json. */
export function writeChart(): void {
  writeText('results.svg', chart(JSON.parse(readFileSync(join(import.meta.dirname, 'results.json'), 'utf8'))));
}

/** Throughput by connections above CPU time per create, as SVG, on white, so that dark pages can show it as well. */
function chart({ machine, settings, summary }: BenchResults): string {
  const counts = [...new Set(summary.map(({ connections }) => connections))];
  const keys = (Object.keys(contenders) as ContenderKey[]).filter((key) => summary.some(by(key)));
  const measured = keys
    .map((key) => ({ key, row: summary.find((row) => by(key)(row) && row.connections === CONNECTIONS) }))
    // The first one is drawn at the bottom.
    .toReversed();
  const cpu = (figure: 'serverCpu' | 'postgresCpu') =>
    measured.map(({ key, row }) => ({
      // JSON has null where there is no store.
      value: Math.round(row?.[figure] ?? 0),
      ...(figure === 'serverCpu' && { itemStyle: { color: looks[key].color } }),
    }));
  const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: 820 });
  drawing.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: FONT, color: INK },
    title: [
      heading(
        'Creates per second',
        'each one is committed (fsync)\n' +
          `${machine.cores} cores shared with Postgres and the load, median of ${settings.rounds} rounds`,
        16,
      ),
      heading(
        'CPU time per create, µs',
        `colored: the service; light grey: Postgres; at ${CONNECTIONS} connections, less is better`,
        468,
      ),
    ],
    grid: [
      { left: 72, right: LABEL_WIDTH + 24, top: 108, height: 270 },
      { left: LABEL_WIDTH + 24, right: 48, top: 536, bottom: 24 },
    ],
    xAxis: [
      {
        type: 'category',
        data: counts.map(String),
        boundaryGap: false,
        name: 'connections',
        nameLocation: 'middle',
        nameGap: 34,
        nameTextStyle: { fontSize: 13, color: INK },
        axisLabel: { fontSize: 13, color: INK },
      },
      { gridIndex: 1, type: 'value', min: 0, axisLabel: { show: false }, splitLine: { show: false } },
    ],
    yAxis: [
      {
        type: 'value',
        min: 0,
        axisLabel: { fontSize: 13, color: INK, formatter: (value: number) => value.toLocaleString('en') },
      },
      {
        gridIndex: 1,
        type: 'category',
        data: measured.map(({ key }) => contenders[key].title),
        axisTick: { show: false },
        axisLabel: { fontSize: 13, color: INK, width: LABEL_WIDTH, overflow: 'break' },
      },
    ],
    series: [
      ...keys.filter((key) => contenders[key].stores).map((key) => throughput(key, summary)),
      { ...bars, name: 'service', data: cpu('serverCpu') },
      {
        ...bars,
        name: 'Postgres',
        data: cpu('postgresCpu'),
        itemStyle: { color: POSTGRES_COLOR },
        label: {
          show: true,
          position: 'right',
          fontSize: 13,
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => {
            const { serverCpu = 0, postgresCpu } = measured[dataIndex]?.row ?? {};
            return `${Math.round(serverCpu + (postgresCpu ?? 0))}`;
          },
        },
      },
    ],
  });
  const svg = drawing.renderToSVGString();
  drawing.dispose();
  return svg;
}

const bars = { type: 'bar', silent: true, stack: 'cpu', xAxisIndex: 1, yAxisIndex: 1, barWidth: '60%' };

const by =
  (key: ContenderKey) =>
  ({ contender }: Summary) =>
    contender === key;

function heading(text: string, subtext: string, top: number) {
  const subtextStyle = { fontSize: 13, lineHeight: 18, color: FAINT_INK };
  return { text, subtext, left: 24, top, textStyle: { fontSize: 18, color: INK }, subtextStyle };
}

function throughput(key: ContenderKey, summary: readonly Summary[]) {
  const { color, width } = looks[key];
  return {
    type: 'line',
    silent: true,
    name: contenders[key].title,
    data: summary.filter(by(key)).map(({ requestsPerSecond }) => Math.round(requestsPerSecond)),
    lineStyle: { color, width },
    itemStyle: { color },
    symbol: 'circle',
    symbolSize: 7,
    endLabel: {
      show: true,
      formatter: contenders[key].title,
      width: LABEL_WIDTH,
      overflow: 'break',
      color,
      fontSize: 13,
      fontWeight: key === 'ours' ? 'bold' : 'normal',
      minMargin: 8,
    },
    labelLayout: { moveOverlap: 'shiftY' },
  };
}
