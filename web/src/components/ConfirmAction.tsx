import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { asApiError } from '@/api/client';
import { t } from '@/texts';

type Props = {
  opened: boolean;
  onClose: () => void;
  title: string;
  explain: ReactNode;
  /** What the button says: the verb itself. */
  verb: string;
  /** Given for what destroys or cannot be taken back at once: the operator types it. */
  name?: string;
  /** Given when people may say why: the label of the field. */
  reason?: string;
  onConfirm: (reason: string) => Promise<unknown>;
};

/** Asks before an action on the fleet. The dialog stays open with the reason when the action is refused. */
export function ConfirmAction({ opened, onClose, title, explain, verb, name, reason, onConfirm }: Props) {
  const [typed, setTyped] = useState('');
  const [why, setWhy] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const close = () => {
    setTyped('');
    setWhy('');
    setError(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm(why.trim());
      close();
    } catch (refusal) {
      setError(asApiError(refusal).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={close} title={title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <Stack gap="md">
          <Text size="sm">{explain}</Text>
          {name !== undefined && (
            <TextInput
              label={t.confirm.typeName(name)}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          {reason !== undefined && (
            <Textarea
              label={reason}
              value={why}
              onChange={(event) => setWhy(event.currentTarget.value)}
              maxLength={500}
              autosize
              data-autofocus
            />
          )}
          {error !== null && (
            <Text size="sm" role="alert" c="var(--fw-bad-fg)">
              {error}
            </Text>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              {t.confirm.cancel}
            </Button>
            <Button
              type="submit"
              loading={busy}
              disabled={name !== undefined && typed !== name}
              color="brand"
            >
              {verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
