import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { IconCheck, IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react';
import { t } from '@/texts';

const schemes = [
  { value: 'auto', icon: IconDeviceDesktop, word: t.scheme.auto },
  { value: 'light', icon: IconSun, word: t.scheme.light },
  { value: 'dark', icon: IconMoon, word: t.scheme.dark },
] as const;

/** Light, dark, or as the operating system says. */
export function SchemeToggle() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const present = schemes.find(({ value }) => value === colorScheme) ?? schemes[0];
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.scheme.now(present.word)}>
          <present.icon size={18} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.scheme.label}</Menu.Label>
        {schemes.map(({ value, icon: Icon, word }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={16} />}
            rightSection={value === colorScheme ? <IconCheck size={14} /> : null}
            onClick={() => setColorScheme(value)}
          >
            {word}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
