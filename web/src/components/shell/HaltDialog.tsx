import { Anchor, Button, Group, Modal, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'react-router';
import { asApiError } from '@/api/client';
import { halt } from '@/api/halts';
import { overviewKey } from '@/api/overview';
import { sessionQuery } from '@/api/session';
import { t } from '@/texts';

const durations = Object.entries(t.halt.durations).map(([value, label]) => ({ value, label }));
const scopes = Object.entries(t.halt.scopes).map(([value, label]) => ({ value, label }));

/** What to halt, for how long, and why. Nothing is assumed done before the API has said so. */
export function HaltDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const { pathname } = useLocation();
  const { data: session } = useQuery(sessionQuery());
  const [scope, setScope] = useState('all');
  const [target, setTarget] = useState('');
  const [length, setLength] = useState('1h');
  const [reason, setReason] = useState('');
  const stop = useMutation({
    mutationFn: () =>
      halt({
        reason: reason.trim(),
        ...(scope === 'target' ? { target: target.trim() } : {}),
        ...(length === 'forever' ? {} : { for: length }),
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: overviewKey });
      notifications.show({ message: t.halt.done, color: 'gray' });
      setReason('');
      onClose();
    },
  });
  const complete = reason.trim().length >= 3 && (scope !== 'target' || target.trim() !== '');
  return (
    <Modal opened={opened} onClose={onClose} title={t.halt.title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          stop.mutate();
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {t.halt.explain}
          </Text>
          <Select
            label={t.halt.scope}
            data={scopes}
            value={scope}
            onChange={(value) => setScope(value ?? 'all')}
            allowDeselect={false}
          />
          {scope === 'target' && (
            <TextInput
              label={t.halt.target}
              description={t.halt.targetHint}
              value={target}
              onChange={(event) => setTarget(event.currentTarget.value)}
            />
          )}
          <Select
            label={t.halt.duration}
            data={durations}
            value={length}
            onChange={(value) => setLength(value ?? '1h')}
            allowDeselect={false}
          />
          <Textarea
            label={t.halt.reason}
            description={t.halt.reasonHint}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            autosize
            minRows={2}
            required
            data-autofocus
          />
          {stop.isError && (
            <Text size="sm" role="alert" c="var(--fw-bad-fg)">
              {asApiError(stop.error).message}
            </Text>
          )}
          <Group justify="space-between" gap="xs">
            {session?.signedIn === false ? (
              <Text size="sm">
                <Anchor component={Link} to={`/sign-in?to=${encodeURIComponent(pathname)}`} onClick={onClose}>
                  {t.session.needed}
                </Anchor>
              </Text>
            ) : (
              <span />
            )}
            <Group gap="xs">
              <Button variant="default" onClick={onClose}>
                {t.confirm.cancel}
              </Button>
              <Button
                type="submit"
                color="red.8"
                loading={stop.isPending}
                disabled={!complete || session?.signedIn !== true}
              >
                {t.halt.submit}
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
