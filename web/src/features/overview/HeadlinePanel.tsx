import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { Overview } from '@/api/types';
import { Panel } from '@/components/Panel';
import { bands, extent, times } from '@/features/overview/model';
import { count, duration, latency, percent } from '@/lib/format';
import { t } from '@/texts';
import classes from './Overview.module.css';

const Chart = lazy(async () => ({ default: (await import('@/components/chart/Chart')).Chart }));

const words = t.overview.headline;

/** The headline: effective tokens per minute, what it is made of, and how it went. */
export function HeadlinePanel({ overview }: { overview: Overview }) {
  const { headline } = overview;
  const tiles = [
    [words.tokens, count(headline.tokensPerSecond)],
    [words.success, percent(headline.successRate)],
    [words.ttft, latency(headline.ttftP95)],
    [words.tpot, latency(headline.tpotP95)],
  ] as const;
  return (
    <Panel>
      <div className={classes.headline}>
        <div className={classes.figures}>
          <div>
            <h2 className={classes.name}>{words.etpm}</h2>
            <p className={classes.big}>{count(headline.etpm)}</p>
            {headline.etpmEstimate !== null && (
              <p className={classes.dim}>{words.estimate(count(headline.etpmEstimate))}</p>
            )}
          </div>
          <dl className={classes.tiles}>
            {tiles.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
        <History overview={overview} />
      </div>
    </Panel>
  );
}

function History({ overview }: { overview: Overview }) {
  const { history } = overview;
  if (history.length < 2) return <p className={classes.dim}>{words.noHistory}</p>;
  const values = history.map((point) => point.etpm);
  const at = times(history);
  const [low, high] = extent(values) ?? [null, null];
  const span = duration((at.at(-1) ?? 0) - (at[0] ?? 0));
  return (
    <Suspense fallback={<Skeleton height={180} />}>
      <Chart
        times={at}
        series={[{ label: words.perMinute, values, tone: 'accent', area: true, format: count }]}
        bands={bands(overview)}
        summary={words.summary(count(overview.headline.etpm), count(low), count(high), span)}
      />
    </Suspense>
  );
}
