import 'uplot/dist/uPlot.min.css';
import { Button, Table, useComputedColorScheme } from '@mantine/core';
import { useDisclosure, useElementSize } from '@mantine/hooks';
import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import { type Band, chartData, chartOptions, type Series } from '@/components/chart/options';
import { NONE } from '@/lib/format';
import { clockTime } from '@/lib/time';
import { t } from '@/texts';
import type { Tone } from '@/theme';
import classes from './Chart.module.css';

export type ToneSeries = Omit<Series, 'colour' | 'fill'> & { tone: Tone | 'accent'; area?: boolean };

type Props = {
  times: number[];
  series: ToneSeries[];
  bands?: Band[];
  height?: number;
  /** What the picture shows, in a sentence: for those who do not see it. */
  summary: string;
};

const none: Band[] = [];

/** A line chart over time. The same numbers stand in a table one press away. */
export function Chart({ times, series, bands = none, height = 160, summary }: Props) {
  const { ref: sized, width } = useElementSize();
  const canvas = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme('light');
  const [hover, setHover] = useState<number | null>(null);
  const [table, { toggle }] = useDisclosure(false);
  // Rebuilt only when the shape changes; new numbers go into the standing plot.
  const shape = JSON.stringify([series.map(({ label, tone, area }) => [label, tone, area]), bands, scheme]);
  const latest = useRef({ times, series, bands });
  latest.current = { times, series, bands };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for the series and bands
  useEffect(() => {
    const element = canvas.current;
    if (element === null || width === 0) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const drawn: Series[] = latest.current.series.map(({ tone, area, ...rest }) => ({
      ...rest,
      colour: colour(tone === 'accent' ? '--fw-accent' : `--fw-${tone}-line`),
      ...(area ? { fill: `color-mix(in srgb, ${colour('--fw-accent')} 12%, transparent)` } : {}),
    }));
    const options = chartOptions({ width, height }, drawn, latest.current.bands, {
      text: colour('--fw-dim'),
      grid: colour('--fw-line'),
      band: `color-mix(in srgb, ${colour('--fw-drill-line')} 18%, transparent)`,
      bandLine: colour('--fw-drill-line'),
    });
    options.hooks = { ...options.hooks, setCursor: [(each) => setHover(each.cursor.idx ?? null)] };
    plot.current = new uPlot(options, chartData(latest.current.times, drawn), element);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, height, shape]);

  useEffect(() => {
    const colourless = series.map((each) => ({ ...each, colour: '' }));
    plot.current?.setData(chartData(times, colourless));
  }, [times, series]);

  const shown = hover ?? times.length - 1;
  const rows = useMemo(() => times.map((_, index) => times.length - 1 - index).slice(0, 60), [times]);
  return (
    <figure className={classes.figure} aria-label={summary}>
      <figcaption className={classes.legend}>
        <span className="num">{times[shown] === undefined ? NONE : clockTime(times[shown] * 1000)}</span>
        {series.map((each) => (
          <span key={each.label} className={classes.key} data-dash={each.dash !== undefined}>
            <i
              style={{ '--key': each.tone === 'accent' ? 'var(--fw-accent)' : `var(--fw-${each.tone}-line)` }}
            />
            {each.label} <b>{each.format(each.values[shown])}</b>
          </span>
        ))}
        {bands.map((band) => (
          <span key={`${band.label}${band.from}`} className={classes.band}>
            {band.label}
          </span>
        ))}
        <Button variant="subtle" color="gray" size="compact-xs" onClick={toggle} aria-expanded={table}>
          {table ? t.table.hide : t.table.show}
        </Button>
      </figcaption>
      <div ref={sized} className={classes.sized} style={{ height }}>
        <div ref={canvas} aria-hidden />
      </div>
      {table && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <div className={classes.table} tabIndex={0}>
          <Table stickyHeader>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t.overview.time}</Table.Th>
                {series.map((each) => (
                  <Table.Th key={each.label} className="num">
                    {each.label}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row) => (
                <Table.Tr key={times[row]}>
                  <Table.Td>{clockTime((times[row] ?? 0) * 1000)}</Table.Td>
                  {series.map((each) => (
                    <Table.Td key={each.label} className="num">
                      {each.format(each.values[row])}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </figure>
  );
}
