import { Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconPlayerPause, IconPlugConnected, IconRefresh } from '@tabler/icons-react';
import { useLive } from '@/api/LiveProvider';
import { clockTime } from '@/lib/time';
import { t } from '@/texts';
import { toneVar } from '@/theme';
import classes from './Shell.module.css';

/** Whether what the page shows is the present. A press holds updates back, so that a table stands still. */
export function LiveIndicator() {
  const { state, since, paused, setPaused } = useLive();
  const looks = {
    live: { tone: 'ok', icon: IconPlugConnected, word: t.live.live, explain: t.live.explainLive },
    reconnecting: {
      tone: 'warn',
      icon: IconRefresh,
      word: t.live.reconnecting,
      explain: t.live.explainReconnecting,
    },
    stale: {
      tone: 'bad',
      icon: IconAlertTriangle,
      word: t.live.stale(clockTime(since)),
      explain: t.live.explainStale,
    },
    paused: { tone: 'idle', icon: IconPlayerPause, word: t.live.paused, explain: t.live.explainPaused },
  } as const;
  const look = looks[paused ? 'paused' : state];
  const action = paused ? t.live.resume : t.live.pause;
  return (
    <>
      <Tooltip label={`${look.explain} ${action}.`} multiline maw="18rem">
        <button
          type="button"
          className={classes.live}
          aria-label={`${look.word}. ${action}`}
          aria-pressed={paused}
          onClick={() => setPaused(!paused)}
          style={{
            '--tone-fg': toneVar(look.tone, 'fg'),
            '--tone-bg': toneVar(look.tone, 'bg'),
            '--tone-line': toneVar(look.tone, 'line'),
          }}
        >
          <look.icon size={14} stroke={2.2} aria-hidden />
          {look.word}
        </button>
      </Tooltip>
      <span className="sr" role="status">
        {state === 'stale' ? look.word : ''}
      </span>
    </>
  );
}
