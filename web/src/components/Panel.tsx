import { Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './Panel.module.css';

type Props = {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  /** Without inner margins, for tables that reach the edges. */
  flush?: boolean;
};

/** A titled surface; its title names the region for assistive technology. */
export function Panel({ title, aside, children, flush = false }: Props) {
  const id = useId();
  return (
    <section className={classes.panel} data-flush={flush} aria-labelledby={title ? id : undefined}>
      {title && (
        <header className={classes.head}>
          <Title order={2} id={id}>
            {title}
          </Title>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}
