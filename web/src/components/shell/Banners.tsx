import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconFlask, IconHandStop } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { lift } from '@/api/halts';
import { overviewKey, overviewQuery } from '@/api/overview';
import type { Halt, Overview } from '@/api/types';
import { ConfirmAction } from '@/components/ConfirmAction';
import { TimeAgo } from '@/components/TimeAgo';
import { clockTime } from '@/lib/time';
import { t } from '@/texts';
import { type Tone, toneVar } from '@/theme';
import classes from './Shell.module.css';

const tone = (name: Tone) => ({
  '--tone-fg': toneVar(name, 'fg'),
  '--tone-bg': toneVar(name, 'bg'),
  '--tone-line': toneVar(name, 'line'),
});

/** What every operator must know on every page: that automation is halted, and that a drill is running. */
export function Banners() {
  const { data } = useQuery(overviewQuery());
  if (data === undefined) return null;
  return (
    <>
      {data.halts.map((each) => (
        <HaltBanner key={each.id} halt={each} />
      ))}
      {data.activeDrill && <DrillBanner drill={data.activeDrill} />}
    </>
  );
}

export const scopeOf = (halt: Halt) => halt.target ?? [halt.service, halt.zone].filter(Boolean).join(' / ');

function HaltBanner({ halt }: { halt: Halt }) {
  const client = useQueryClient();
  const [opened, { open, close }] = useDisclosure(false);
  const scope = scopeOf(halt);
  return (
    <section className={classes.banner} style={tone('warn')} aria-label={t.halt.banner}>
      <span className={classes.bannerTitle}>
        <IconHandStop size={17} aria-hidden />
        {t.halt.banner}
        {scope && ` ${t.halt.scopeOf(scope)}`}
      </span>
      <span>{halt.reason}</span>
      <span>
        {t.halt.by(halt.by)}, <TimeAgo at={halt.createdAt} />,{' '}
        {halt.expiresAt ? t.halt.until(clockTime(halt.expiresAt)) : t.halt.untilLifted}
      </span>
      <Button className={classes.end ?? ''} size="compact-sm" variant="default" onClick={open}>
        {t.halt.lift}
      </Button>
      <ConfirmAction
        opened={opened}
        onClose={close}
        title={t.halt.liftTitle}
        explain={t.halt.liftExplain}
        verb={t.halt.lift}
        onConfirm={async () => {
          await lift(halt.id);
          await client.invalidateQueries({ queryKey: overviewKey });
        }}
      />
    </section>
  );
}

function DrillBanner({ drill }: { drill: NonNullable<Overview['activeDrill']> }) {
  const targets = [...new Set(drill.faults.flatMap((fault) => fault.targets))];
  return (
    <section className={classes.banner} style={tone('drill')} aria-label={t.drillBanner.running}>
      <span className={classes.bannerTitle}>
        <IconFlask size={17} aria-hidden />
        {t.drillBanner.running}
      </span>
      <strong>{drill.run.name}</strong>
      {targets.length > 0 && <span className="mono">{targets.join(', ')}</span>}
      <span>
        {t.drillBanner.since} <TimeAgo at={drill.run.startedAt ?? drill.run.createdAt} />
      </span>
      <Link className={classes.end} to={`/runs/${drill.run.id}`}>
        {t.drillBanner.view}
      </Link>
    </section>
  );
}
