import { Button, Stack, Text, Title } from '@mantine/core';
import { useRouteError } from 'react-router';
import { t } from '@/texts';

/** A page broke: its message, and a way to load it again. */
export function Crash() {
  const error = useRouteError();
  return (
    <Stack align="center" py="xl" role="alert">
      <Title order={1}>{t.errors.crashed}</Title>
      <Text className="mono" c="dimmed" maw="60rem">
        {error instanceof Error ? error.message : String(error)}
      </Text>
      <Button variant="default" onClick={() => window.location.reload()}>
        {t.errors.reload}
      </Button>
    </Stack>
  );
}
