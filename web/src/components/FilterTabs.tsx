import { SegmentedControl } from '@mantine/core';
import classes from './FilterTabs.module.css';

type Props<T extends string> = {
  label: string;
  value: T;
  options: readonly T[];
  words: Record<T, string>;
  onChange: (value: T) => void;
};

/** One choice of a few, in sight; on a narrow screen it scrolls by itself instead of the page. */
export function FilterTabs<T extends string>({ label, value, options, words, onChange }: Props<T>) {
  return (
    <div className={classes.scroll}>
      <SegmentedControl
        size="xs"
        aria-label={label}
        value={value}
        onChange={(next) => onChange(next as T)}
        data={options.map((option) => ({ value: option, label: words[option] }))}
      />
    </div>
  );
}
