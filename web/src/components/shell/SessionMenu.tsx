import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { IconLogin2, IconLogout, IconUserCircle } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'react-router';
import { sessionQuery, signOut } from '@/api/session';
import { t } from '@/texts';

/** Who is signed in, and the way in or out. */
export function SessionMenu() {
  const client = useQueryClient();
  const { pathname, search } = useLocation();
  const { data } = useQuery(sessionQuery());
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => client.invalidateQueries({ queryKey: sessionQuery().queryKey }),
  });
  if (!data?.signedIn) {
    return (
      <Tooltip label={t.session.signIn}>
        <ActionIcon
          component={Link}
          to={`/sign-in?to=${encodeURIComponent(pathname + search)}`}
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t.session.signIn}
        >
          <IconLogin2 size={18} stroke={1.7} />
        </ActionIcon>
      </Tooltip>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.session.as(data.name ?? '')}>
          <IconUserCircle size={18} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.session.as(data.name ?? '')}</Menu.Label>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => leave.mutate()}>
          {t.session.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
