import { lookOf } from '@/components/status';
import { t } from '@/texts';
import { toneVar } from '@/theme';
import classes from './StatusBadge.module.css';

type Props = {
  state: string;
  /** Instead of the state's own word. */
  label?: string | undefined;
  /** `plain` has no pill behind it: for dense tables and cells. */
  variant?: 'pill' | 'plain' | undefined;
};

/** camelCase and snake_case names that have no word of their own, as words. */
function asWords(state: string): string {
  const spaced = state.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1).toLowerCase();
}

export const wordOf = (state: string) => t.words[state] ?? asWords(state);

/** A state as icon, word and colour: any two of them may fail a reader. */
export function StatusBadge({ state, label, variant = 'pill' }: Props) {
  const { tone, icon: Icon } = lookOf(state);
  return (
    <span
      className={classes.badge}
      data-variant={variant}
      data-state={state}
      style={{ '--tone-fg': toneVar(tone, 'fg'), '--tone-bg': toneVar(tone, 'bg') }}
    >
      <Icon
        size={14}
        stroke={2.2}
        aria-hidden
        className={classes.icon}
        data-spin={Icon.displayName === 'IconLoader2'}
      />
      <span>{label ?? wordOf(state)}</span>
    </span>
  );
}
