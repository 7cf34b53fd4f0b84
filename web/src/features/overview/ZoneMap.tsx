import { IconServer2 } from '@tabler/icons-react';
import type { NodeCell, Overview, Readings, ReplicaCell, ZoneCell } from '@/api/types';
import { EmptyState } from '@/components/EmptyState';
import { StatusBadge } from '@/components/StatusBadge';
import { lookOf } from '@/components/status';
import { count, latency, percent } from '@/lib/format';
import { t } from '@/texts';
import { toneVar } from '@/theme';
import classes from './ZoneMap.module.css';

const words = t.overview.map;
const headline = t.overview.headline;

/** Zones as columns, nodes and replicas as cells: where the service yields, and where it does not. */
export function ZoneMap({ overview }: { overview: Overview }) {
  if (overview.zones.length === 0) return <EmptyState title={words.none} text={words.noneText} />;
  return (
    <section aria-label={words.title} className={classes.zones}>
      {overview.zones.map((zone) => (
        <Zone key={zone.target} zone={zone} />
      ))}
    </section>
  );
}

const tone = (health: string) => {
  const look = lookOf(health);
  return {
    '--tone-fg': toneVar(look.tone, 'fg'),
    '--tone-bg': toneVar(look.tone, 'bg'),
    '--tone-line': toneVar(look.tone, 'line'),
  };
};

function Zone({ zone }: { zone: ZoneCell }) {
  return (
    <article className={classes.zone} style={tone(zone.health)} aria-label={zone.name}>
      <header className={classes.head}>
        <h2 className={classes.title}>{zone.name}</h2>
        <StatusBadge state={zone.health} />
      </header>
      <Share zone={zone} />
      {(zone.reason || zone.holder) && (
        <p className={classes.reason}>
          {zone.reason}
          {zone.holder && (
            <>
              {zone.reason && '; '}
              {words.holder} <span className="mono">{zone.holder}</span>
            </>
          )}
        </p>
      )}
      <ZoneReadings readings={zone.readings} />
      {zone.nodes.map((node) => (
        <Node key={node.target} node={node} />
      ))}
    </article>
  );
}

function Share({ zone }: { zone: ZoneCell }) {
  const share = percent(zone.share, 0);
  return (
    <div className={classes.share}>
      <div className={classes.bar} aria-hidden>
        <span style={{ width: `${Math.round(zone.share * 100)}%` }} />
      </div>
      <span>
        <b>{zone.weight === 0 ? words.noTraffic : share}</b>{' '}
        <span className={classes.dim}>
          {zone.weight === 0 ? words.weight(0) : `${words.share}, ${words.weight(zone.weight)}`}
        </span>
      </span>
    </div>
  );
}

function ZoneReadings({ readings }: { readings: Readings }) {
  const all = [
    [headline.perMinute, count(readings.etpm)],
    [headline.tokens, count(readings.tokensPerSecond)],
    [headline.success, percent(readings.successRate)],
    [headline.ttft, latency(readings.ttftP95)],
    [headline.tpot, latency(readings.tpotP95)],
    [words.queue, count(readings.queue)],
    [words.kv, percent(readings.kvUse, 0)],
    [words.running, count(readings.running)],
  ] as const;
  return (
    <dl className={classes.readings}>
      {all.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Node({ node }: { node: NodeCell }) {
  const flags = [!node.ready && words.notReady, !node.schedulable && words.cordoned].filter(
    (each) => each !== false,
  );
  return (
    <section className={classes.node} aria-label={node.name}>
      <header className={classes.nodeHead}>
        <IconServer2 size={15} stroke={1.7} aria-hidden />
        <h3>{node.name}</h3>
        {flags.length > 0 && <span className={classes.flags}>{flags.join(', ')}</span>}
        <span className={classes.end}>
          <StatusBadge state={node.health} variant="plain" />
        </span>
      </header>
      {node.reason && <p className={classes.reason}>{node.reason}</p>}
      <div className={classes.replicas}>
        {node.replicas.map((replica) => (
          <Replica key={replica.target} replica={replica} />
        ))}
      </div>
    </section>
  );
}

function Replica({ replica }: { replica: ReplicaCell }) {
  const { kvUse, queue, running } = replica.readings;
  const canary =
    replica.canary === null ? words.canary.none : replica.canary ? words.canary.good : words.canary.bad;
  return (
    <article
      className={classes.replica}
      style={tone(replica.health)}
      aria-label={replica.name}
      title={replica.uid}
    >
      <header>
        <h4>{replica.name}</h4>
        <StatusBadge state={replica.health} variant="plain" />
      </header>
      {replica.reason && <p className={classes.reason}>{replica.reason}</p>}
      <p className={classes.facts}>
        <span>
          {words.running} <b>{count(running)}</b>
        </span>
        <span>
          {words.queue} <b>{count(queue)}</b>
        </span>
        <span>
          {words.kv} <b>{percent(kvUse, 0)}</b>
        </span>
      </p>
      <div className={classes.kv} aria-hidden>
        <span style={{ width: `${Math.round((kvUse ?? 0) * 100)}%` }} />
      </div>
      <p className={classes.canary} data-good={replica.canary}>
        {canary}
      </p>
    </article>
  );
}
