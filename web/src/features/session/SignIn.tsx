import { Anchor, Button, Loader, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { asApiError } from '@/api/client';
import { exchange, sessionKey, sessionQuery } from '@/api/session';
import { Panel } from '@/components/Panel';
import { takeToken } from '@/features/session/fragment';
import { t } from '@/texts';

const words = t.session;

/** Only a path of this console: a link must not lead an operator who has just signed in elsewhere. */
const inside = (path: string | null) => (path?.startsWith('/') && !path.startsWith('//') ? path : '/');

/** Sign in by pasting the admin token, or by a link whose fragment carries a single-use token. */
export function SignIn() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const to = inside(params.get('to'));
  const { data: session } = useQuery(sessionQuery());
  const [token, setToken] = useState('');
  const tried = useRef(false);
  const enter = useMutation({
    mutationFn: (secret: string) => exchange(secret),
    onSuccess: async (found) => {
      client.setQueryData(sessionKey, found);
      await navigate(to, { replace: true });
    },
  });
  const { mutate } = enter;
  useEffect(() => {
    document.title = `${words.title} · ${t.product}`;
    if (tried.current) return;
    tried.current = true;
    const secret = takeToken();
    if (secret !== null) mutate(secret);
  }, [mutate]);

  return (
    <Stack maw="28rem" mx="auto" pt="xl" gap="md">
      <Title order={1}>{words.title}</Title>
      <Panel>
        {session?.signedIn ? (
          <Text>
            {words.as(session.name ?? '')}.{' '}
            <Anchor component={Link} to={to}>
              {words.onward}
            </Anchor>
          </Text>
        ) : (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              mutate(token.trim());
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
              {enter.isPending && (
                <Text size="sm" role="status">
                  <Loader size="xs" mr="xs" />
                  {words.exchanging}
                </Text>
              )}
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
        )}
      </Panel>
    </Stack>
  );
}
