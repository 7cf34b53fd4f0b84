import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { enginesQuery } from '@/api/engines';
import type { Matrix } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { FilterTabs } from '@/components/FilterTabs';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import classes from '@/features/engines/Engines.module.css';
import { chosen, gradeWord, type Row, rows } from '@/features/engines/model';
import { t } from '@/texts';

const words = t.engines;

const columns: Column<Row>[] = [
  {
    key: 'indicator',
    title: words.columns.indicator,
    cell: ({ indicator }) => (
      <>
        <div className="mono">{indicator.name}</div>
        <div className={classes.dim}>{indicator.meaning}</div>
      </>
    ),
  },
  {
    key: 'grade',
    title: words.columns.grade,
    cell: ({ graded }) => (
      <>
        <StatusBadge state={graded.grade} label={gradeWord(graded)} />
        {graded.with && graded.with.sources.length > 0 && (
          <div className={classes.dim}>
            {words.withSources(gradeWord(graded.with), graded.with.sources.join(', '))}
          </div>
        )}
      </>
    ),
  },
  {
    key: 'from',
    title: words.columns.from,
    cell: ({ graded }) => (
      <div className={classes.from}>
        {graded.series.map((name) => (
          <div key={name} className="mono">
            {name}
          </div>
        ))}
        {[graded.reason, graded.why, ...graded.notes].filter(Boolean).map((line) => (
          <div key={line} className={classes.dim}>
            {line}
          </div>
        ))}
        {graded.needs.length > 0 && <div className={classes.dim}>{words.needs(graded.needs.join(', '))}</div>}
      </div>
    ),
    wide: true,
  },
];

/** Which indicators each release of each engine gives: exactly, as a bound, or not, and why. */
export function Engines() {
  const query = useQuery(enginesQuery());
  return (
    <Page title={words.title} query={query}>
      {(matrix) =>
        matrix.engines.length === 0 ? (
          <EmptyState title={words.none} text={words.noneText} />
        ) : (
          <Chosen matrix={matrix} />
        )
      }
    </Page>
  );
}

function Chosen({ matrix }: { matrix: Matrix }) {
  const [params, setParams] = useSearchParams();
  const { engine, generation } = chosen(matrix, params.get('engine'), params.get('release'));
  const choose = (next: Record<string, string>) => setParams(next, { replace: true });
  const engines = Object.fromEntries(matrix.engines.map((each) => [each.name, each.title]));
  const releases = Object.fromEntries(engine.generations.map((each) => [each.name, each.name]));
  return (
    <>
      <FilterTabs
        label={words.engine}
        value={engine.name}
        options={Object.keys(engines)}
        words={engines}
        onChange={(name) => choose({ engine: name })}
      />
      {engine.generations.length > 1 && (
        <FilterTabs
          label={words.release}
          value={generation.name}
          options={engine.generations.map((each) => each.name)}
          words={releases}
          onChange={(name) => choose({ engine: engine.name, release: name })}
        />
      )}
      <Text size="sm" c="dimmed">
        {words.explain}
      </Text>
      <Panel title={words.of(engine.title, generation.name)} flush>
        <DataTable
          label={words.title}
          columns={columns}
          rows={rows(matrix, generation)}
          rowKey={(row) => row.indicator.name}
        />
      </Panel>
    </>
  );
}
