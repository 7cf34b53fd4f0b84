import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconHandStop } from '@tabler/icons-react';
import { HaltDialog } from '@/components/shell/HaltDialog';
import { t } from '@/texts';

/** On every page, at the same place: stops automation after its current step. */
export function HaltButton() {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        size="xs"
        variant="outline"
        color="var(--fw-bad-fg)"
        leftSection={<IconHandStop size={15} aria-hidden />}
        onClick={open}
      >
        {t.halt.button}
      </Button>
      <HaltDialog opened={opened} onClose={close} />
    </>
  );
}
