import { describe, expect, it } from 'vitest';
import { bandPixels, chartData, chartOptions } from '@/components/chart/options';
import { count } from '@/lib/format';

const band = (from: number, to: number | null) => ({ from, to, label: 'Drill' });
const series = [{ label: 'eTPM', values: [1, null, 3], colour: 'x', format: count }];
const colours = { text: 'x', grid: 'x', band: 'x', bandLine: 'x' };

describe('bandPixels', () => {
  it('maps a stretch of time to the plot', () =>
    expect(bandPixels(band(25, 75), 0, 100, 10, 200)).toEqual({ x: 60, width: 100 }));

  it('reaches to the end while it stands', () =>
    expect(bandPixels(band(50, null), 0, 100, 0, 200)).toEqual({ x: 100, width: 100 }));

  it('is cut at the edges', () =>
    expect(bandPixels(band(-50, 150), 0, 100, 0, 200)).toEqual({ x: 0, width: 200 }));

  it.each([
    [-20, -10],
    [110, 120],
  ])('is not drawn out of sight: %s to %s', (from, to) =>
    expect(bandPixels(band(from, to), 0, 100, 0, 200)).toBeNull(),
  );

  it('stays visible however short it is', () =>
    expect(bandPixels(band(50, 50), 0, 100, 0, 200)?.width).toBe(2));
});

describe('the chart', () => {
  it('leaves a gap where nothing is known', () => {
    expect(chartData([1, 2, 3], series)).toEqual([
      [1, 2, 3],
      [1, null, 3],
    ]);
    expect(chartOptions({ width: 1, height: 1 }, series, [], colours).series[1]?.spanGaps).toBe(false);
  });

  it('begins at zero, so that a dip looks as deep as it is', () => {
    const range = chartOptions({ width: 1, height: 1 }, series, [], colours).scales?.y?.range;
    expect(typeof range === 'function' && range({} as never, 900, 1000, 'y')[0]).toBe(0);
  });
});
