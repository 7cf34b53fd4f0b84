import { type Tone, toneVar } from '@/theme';
import classes from './Meter.module.css';

type Props = {
  /** 0 to 1; what is beyond is drawn as the end it lies at. Null is drawn as nothing. */
  value: number | null;
  /** What is measured, for those who do not see the bar. */
  label: string;
  /** The value in words: always shown, since a bar alone says little. */
  text: string;
  tone: Tone;
};

/** A share as a bar with its number. */
export function Meter({ value, label, text, tone }: Props) {
  const filled = Math.min(Math.max(value ?? 0, 0), 1);
  return (
    <span
      className={classes.meter}
      style={{ '--tone-line': toneVar(tone, 'line'), '--tone-fg': toneVar(tone, 'fg') }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: no two browsers let a meter element be drawn alike */}
      <span
        className={classes.track}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={1}
        aria-valuenow={filled}
        aria-valuetext={text}
      >
        <span className={classes.fill} style={{ inlineSize: `${filled * 100}%` }} />
      </span>
      <span className={classes.text}>{text}</span>
    </span>
  );
}
