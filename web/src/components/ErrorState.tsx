import { Button, Stack, Text, Title } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { asApiError } from '@/api/client';
import { t } from '@/texts';
import classes from './States.module.css';

/** What failed, in the API's own words, and a way to try again. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const known = asApiError(error);
  return (
    <Stack className={classes.state} align="center" gap="xs" role="alert">
      <IconPlugConnectedX size={28} stroke={1.5} aria-hidden className={classes.bad} />
      <Title order={2}>{known.kind === 'notFound' ? t.errors.missing : t.errors.title}</Title>
      <Text ta="center" maw="40rem">
        {known.message}
      </Text>
      {known.hint && (
        <Text ta="center" c="dimmed" maw="40rem">
          {known.hint}
        </Text>
      )}
      {known.code && (
        <Text size="xs" c="dimmed" className="mono">
          {t.errors.code(known.code)}
        </Text>
      )}
      <Button variant="default" size="xs" onClick={onRetry}>
        {t.errors.retry}
      </Button>
    </Stack>
  );
}
