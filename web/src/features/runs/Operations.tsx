import { Button, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Operation, operations } from '@/api/runOperations';
import { runsKey } from '@/api/runs';
import type { RunDetail } from '@/api/types';
import { ConfirmAction } from '@/components/ConfirmAction';
import { offered } from '@/features/runs/offered';
import { t } from '@/texts';

const words = t.runs.operations;

/** What can be done with the run as it is now. Each asks first, with a reason for the journal. */
export function Operations({ detail, only }: { detail: RunDetail; only?: readonly Operation[] }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<Operation | null>(null);
  const found = offered(detail).filter((each) => (only ?? notDecisions).includes(each));
  if (found.length === 0) return null;
  return (
    <Group gap="xs">
      {found.map((each) => (
        <Button
          key={each}
          size="xs"
          variant={each === 'approve' ? 'filled' : 'default'}
          onClick={() => setAsked(each)}
        >
          {words[each].verb}
        </Button>
      ))}
      {asked !== null && (
        <ConfirmAction
          opened
          onClose={() => setAsked(null)}
          title={words[asked].title}
          explain={words[asked].explain}
          verb={words[asked].verb}
          reason={words.reason}
          onConfirm={async (reason) => {
            await operations[asked](detail.run.id, reason);
            await client.invalidateQueries({ queryKey: runsKey });
          }}
        />
      )}
    </Group>
  );
}

const notDecisions: readonly Operation[] = ['pause', 'continue', 'cancel', 'retry', 'undo'];
