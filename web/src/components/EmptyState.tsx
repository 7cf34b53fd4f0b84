import { Button, Stack, Text, Title } from '@mantine/core';
import { IconCircleCheck, IconFilterOff, type TablerIcon } from '@tabler/icons-react';
import { t } from '@/texts';
import classes from './States.module.css';

type Props = {
  title: string;
  text?: string | undefined;
  icon?: TablerIcon | undefined;
  /** Given when something exists and the filter hides it: the way out. */
  onClear?: (() => void) | undefined;
};

/** "There is none yet" and "none matches" are different news; the second offers to clear the filter. */
export function EmptyState({ title, text, icon, onClear }: Props) {
  const Icon = icon ?? (onClear ? IconFilterOff : IconCircleCheck);
  return (
    <Stack className={classes.state} align="center" gap="xs">
      <Icon size={28} stroke={1.5} aria-hidden className={classes.dim} />
      <Title order={2}>{title}</Title>
      {text && (
        <Text c="dimmed" ta="center" maw="34rem">
          {text}
        </Text>
      )}
      {onClear && (
        <Button variant="default" size="xs" onClick={onClear}>
          {t.filters.clear}
        </Button>
      )}
    </Stack>
  );
}
