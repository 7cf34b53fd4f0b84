import { AppShell, Burger, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect } from 'react';
import { Outlet, useLocation } from 'react-router';
import { Banners } from '@/components/shell/Banners';
import { HaltButton } from '@/components/shell/HaltButton';
import { LiveIndicator } from '@/components/shell/LiveIndicator';
import { Navigation } from '@/components/shell/Navigation';
import { SchemeToggle } from '@/components/shell/SchemeToggle';
import { SessionMenu } from '@/components/shell/SessionMenu';
import { useSignInLink } from '@/components/shell/useSignInLink';
import { t } from '@/texts';
import classes from './Shell.module.css';

/** The frame of every page: what is running, whether it is live, and how to stop it are always in sight. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  useSignInLink();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the menu of a narrow screen
  useEffect(close, [pathname]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'sm', sm: 'lg' }}
      classNames={{ header: classes.header ?? '', navbar: classes.navbar ?? '', main: classes.main ?? '' }}
    >
      <a className="skip" href="#content">
        {t.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" gap="xs" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap">
            <Burger
              hiddenFrom="sm"
              size="sm"
              opened={opened}
              onClick={toggle}
              aria-label={opened ? t.nav.close : t.nav.open}
              aria-expanded={opened}
            />
            <img src="/favicon.svg" width={22} height={22} alt="" />
            <Text className={classes.product}>{t.product}</Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LiveIndicator />
            <HaltButton />
            <SchemeToggle />
            <SessionMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm">
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main>
        <Banners />
        <div id="content" data-testid="content" className={classes.content} tabIndex={-1}>
          <Outlet />
        </div>
      </AppShell.Main>
    </AppShell>
  );
}
