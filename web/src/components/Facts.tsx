import type { ReactNode } from 'react';
import classes from './Facts.module.css';

export type Fact = { name: string; value: ReactNode };

/** Names and values side by side; a fact without a value is left out by whoever lists them. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
