import { Anchor, Stack, Text, Title } from '@mantine/core';
import { useEffect } from 'react';
import { Link, useLocation } from 'react-router';
import { t } from '@/texts';

export function NotFound() {
  const { pathname } = useLocation();
  useEffect(() => {
    document.title = `${t.notFound.title} · ${t.product}`;
  }, []);
  return (
    <Stack align="center" py="xl" gap="xs">
      <Title order={1}>{t.notFound.title}</Title>
      <Text c="dimmed">{t.notFound.text(pathname)}</Text>
      <Anchor component={Link} to="/">
        {t.notFound.home}
      </Anchor>
    </Stack>
  );
}
