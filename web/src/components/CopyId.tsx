import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { t } from '@/texts';
import classes from './CopyId.module.css';

/** An identifier, selectable, with a button that copies it. */
export function CopyId({ id }: { id: string }) {
  return (
    <span className={classes.id}>
      <span className="mono">{id}</span>
      <CopyButton value={id}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? t.copy.copied : t.copy.copy}>
            <ActionIcon
              variant="subtle"
              size="sm"
              color="gray"
              onClick={copy}
              aria-label={`${t.copy.copy} ${id}`}
            >
              {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </span>
  );
}
