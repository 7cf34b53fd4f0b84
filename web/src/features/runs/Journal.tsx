import { Button, Group, TextInput } from '@mantine/core';
import { IconDownload, IconSearch } from '@tabler/icons-react';
import type { JournalLine } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { Panel } from '@/components/Panel';
import { Values } from '@/components/Values';
import { NONE } from '@/lib/format';
import { absolute, clockTime } from '@/lib/time';
import { useUrlText } from '@/lib/useUrlState';
import { t } from '@/texts';
import classes from './Runs.module.css';

const words = t.runs.journal;

const columns: Column<JournalLine>[] = [
  {
    key: 'at',
    title: words.time,
    cell: (row) => (
      <time className={classes.clock} dateTime={row.at} title={absolute(row.at)}>
        {clockTime(row.at)}
      </time>
    ),
  },
  { key: 'step', title: words.step, cell: (row) => row.step ?? NONE, wide: true },
  { key: 'event', title: words.event, cell: (row) => <span className="mono">{row.event}</span>, wide: true },
  {
    key: 'message',
    title: words.message,
    cell: (row) => (
      <>
        {row.message}
        {Object.keys(row.data).length > 0 && <Values values={row.data} />}
      </>
    ),
  },
];

/** What happened, in order. It explains the run without any other source, so it can be taken along. */
export function Journal({ lines, run }: { lines: readonly JournalLine[]; run: string }) {
  const [search, setSearch] = useUrlText('q');
  if (lines.length === 0) return <EmptyState title={words.none} />;
  const wanted = search.toLowerCase();
  const shown = lines.filter((line) =>
    `${line.step ?? ''} ${line.event} ${line.message}`.toLowerCase().includes(wanted),
  );
  const href = `data:application/json,${encodeURIComponent(JSON.stringify(lines, null, 2))}`;
  return (
    <Panel flush>
      <Group px="md" pb="sm" gap="xs" justify="space-between">
        <TextInput
          size="xs"
          aria-label={t.filters.search}
          placeholder={t.filters.search}
          leftSection={<IconSearch size={14} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Button
          component="a"
          href={href}
          download={`${run}-journal.json`}
          size="xs"
          variant="default"
          leftSection={<IconDownload size={14} aria-hidden />}
        >
          {t.runs.download}
        </Button>
      </Group>
      {shown.length === 0 ? (
        <EmptyState title={t.runs.noneMatch} onClear={() => setSearch('')} />
      ) : (
        <DataTable
          label={t.runs.tabs.journal}
          columns={columns}
          rows={shown}
          rowKey={(row) => String(row.id)}
        />
      )}
    </Panel>
  );
}
