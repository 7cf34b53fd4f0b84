/** uPlot's options and data from ours. Pure, so that they are tested without a canvas. */
import type uPlot from 'uplot';
import { clockTime } from '@/lib/time';

export type Series = {
  label: string;
  values: (number | null)[];
  /** A CSS colour that a canvas understands (already resolved). */
  colour: string;
  fill?: string;
  dash?: number[];
  format: (value: number | null | undefined) => string;
};

/** A shaded stretch of time; `to` null reaches to the chart's end. Unix seconds. */
export type Band = { from: number; to: number | null; label: string };

export type Colours = { text: string; grid: string; band: string; bandLine: string };

export const chartData = (times: number[], series: Series[]): uPlot.AlignedData => [
  times,
  ...series.map((each) => each.values),
];

/** Where a band lies within the plot, in pixels; null when it is out of sight. */
export function bandPixels(band: Band, from: number, to: number, left: number, width: number) {
  const end = Math.min(band.to ?? to, to);
  const start = Math.max(band.from, from);
  if (end < from || start > to || to <= from) return null;
  const x = (at: number) => left + ((at - from) / (to - from)) * width;
  return { x: x(start), width: Math.max(x(end) - x(start), 2) };
}

function drawBands(bands: Band[], colours: Colours): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    const { min, max } = plot.scales.x ?? {};
    if (min === undefined || max === undefined || min === null || max === null) return;
    ctx.save();
    for (const band of bands) {
      const place = bandPixels(band, min, max, bbox.left, bbox.width);
      if (place === null) continue;
      ctx.fillStyle = colours.band;
      ctx.fillRect(place.x, bbox.top, place.width, bbox.height);
      ctx.fillStyle = colours.bandLine;
      ctx.fillRect(place.x, bbox.top, 1.5, bbox.height);
    }
    ctx.restore();
  };
}

export function chartOptions(
  size: { width: number; height: number },
  series: Series[],
  bands: Band[],
  colours: Colours,
): uPlot.Options {
  const axis = {
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    font: '11px "Inter Variable", sans-serif',
  };
  const first = series[0];
  return {
    ...size,
    padding: [8, 24, 0, 0], // on the right for half of the last time
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.12 : 1] } },
    axes: [
      { ...axis, size: 28, space: 90, values: (_plot, ticks) => ticks.map((at) => clockTime(at * 1000)) },
      {
        ...axis,
        size: 54,
        space: 28,
        values: (_plot, ticks) => ticks.map((value) => first?.format(value) ?? ''),
      },
    ],
    series: [
      {},
      ...series.map((each) => ({
        label: each.label,
        stroke: each.colour,
        width: 1.75,
        spanGaps: false,
        points: { show: false },
        ...(each.fill === undefined ? {} : { fill: each.fill }),
        ...(each.dash === undefined ? {} : { dash: each.dash }),
      })),
    ],
    hooks: { drawClear: [drawBands(bands, colours)] },
  };
}
