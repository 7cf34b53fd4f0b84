import { Button, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Navigate, useSearchParams } from 'react-router';
import { asApiError } from '@/api/client';
import { exchange, sessionKey, sessionQuery } from '@/api/session';
import { Panel } from '@/components/Panel';
import { t } from '@/texts';

const words = t.session;

/** Only a path of this console: a link must not lead an operator who has just signed in elsewhere. */
const inside = (path: string | null) => (path?.startsWith('/') && !path.startsWith('//') ? path : '/');

/** Sign in by pasting the admin token. Who is signed in already goes on to where they wanted to go. */
export function SignIn() {
  const client = useQueryClient();
  const [params] = useSearchParams();
  const { data: session } = useQuery(sessionQuery());
  const [token, setToken] = useState('');
  const enter = useMutation({
    mutationFn: exchange,
    onSuccess: (found) => client.setQueryData(sessionKey, found),
  });
  useEffect(() => {
    document.title = `${words.title} · ${t.product}`;
  }, []);
  if (session?.signedIn) return <Navigate to={inside(params.get('to'))} replace />;
  return (
    <Stack maw="28rem" mx="auto" pt="xl" gap="md">
      <Title order={1}>{words.title}</Title>
      <Panel>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            enter.mutate(token.trim());
          }}
        >
          <Stack gap="sm">
            <Text size="sm" c="dimmed">
              {words.explain}
            </Text>
            <PasswordInput
              label={words.token}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
            />
            {enter.isError && (
              <Text size="sm" role="alert" c="var(--fw-bad-fg)">
                {asApiError(enter.error).message}
              </Text>
            )}
            <Button type="submit" loading={enter.isPending} disabled={token.trim().length < 16}>
              {words.submit}
            </Button>
          </Stack>
        </form>
      </Panel>
    </Stack>
  );
}
