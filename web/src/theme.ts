/**
 * Every colour of the console stands in this file, and nowhere else (test/rules.test.ts looks).
 *
 * Components speak of tones (`ok`, `warn`, `bad`, ...), never of hues. Each tone has three roles in each
 * scheme: `fg` for words and icons, `bg` for the surface behind them, `line` for borders and strokes. The
 * pairs fg on bg, and fg on the page, meet WCAG AA (the e2e journeys check with axe in both schemes).
 */
import {
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  Modal,
  Notification,
} from '@mantine/core';
import { t } from '@/texts';

export const tones = ['ok', 'warn', 'bad', 'busy', 'drill', 'idle'] as const;
export type Tone = (typeof tones)[number];

type Roles = { fg: string; bg: string; line: string };

const light: Record<Tone, Roles> = {
  ok: { fg: '#146c43', bg: '#e3f5ea', line: '#37a169' },
  warn: { fg: '#875100', bg: '#fff0d6', line: '#dd9416' },
  bad: { fg: '#b3261e', bg: '#fde7e5', line: '#dc4a41' },
  busy: { fg: '#1f4fb4', bg: '#e4edff', line: '#4a7be8' },
  drill: { fg: '#7a2fa0', bg: '#f5e8fb', line: '#a45bc9' },
  idle: { fg: '#545c6b', bg: '#edeff3', line: '#a2aab8' },
};

const dark: Record<Tone, Roles> = {
  ok: { fg: '#6fd69c', bg: '#12301f', line: '#2f9e60' },
  warn: { fg: '#f5bd57', bg: '#382709', line: '#c98a1a' },
  bad: { fg: '#ff9a92', bg: '#411a18', line: '#d9534a' },
  busy: { fg: '#94b8ff', bg: '#172a4f', line: '#4f7ee0' },
  drill: { fg: '#dba5f2', bg: '#331a40', line: '#a45bc9' },
  idle: { fg: '#a9b2c0', bg: '#262c36', line: '#5b6575' },
};

const surfaces = {
  light: {
    page: '#f5f6f9',
    card: '#ffffff',
    sunken: '#f0f2f6',
    line: '#dfe3ea',
    text: '#171c26',
    dim: '#545c6b',
    accent: '#2f4ad0',
    hover: '#eef1f8',
    shadow: '0 1px 2px rgb(16 24 40 / 5%)',
  },
  dark: {
    page: '#0f131a',
    card: '#171c25',
    sunken: '#12161e',
    line: '#2a313d',
    text: '#e7eaf0',
    dim: '#a1aaba',
    accent: '#9db1ff',
    hover: '#1e2530',
    shadow: 'none',
  },
} as const;

const brand: MantineColorsTuple = [
  '#edf1ff',
  '#dae1fd',
  '#b2bff7',
  '#889bf1',
  '#647cec',
  '#4d69e9',
  '#4060e9',
  '#2f4ad0',
  '#2843b9',
  '#1b38a3',
];

const slate: MantineColorsTuple = [
  '#e7eaf0',
  '#c6ccd8',
  '#a1aaba',
  '#7d8797',
  '#3a4250',
  '#2a313d',
  '#1e2530',
  '#171c25',
  '#12161e',
  '#0f131a',
];

export const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  luminanceThreshold: 0.32,
  colors: { brand, dark: slate },
  fontFamily: "'Inter Variable', system-ui, 'PingFang SC', 'Noto Sans SC', sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '620',
    sizes: { h1: { fontSize: '1.375rem', lineHeight: '1.3' }, h2: { fontSize: '1rem', lineHeight: '1.4' } },
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { 'aria-label': t.confirm.close } },
    }),
    Modal: Modal.extend({
      defaultProps: {
        styles: { title: { fontSize: 'var(--mantine-font-size-lg)', fontWeight: 640 } },
        closeButtonProps: { 'aria-label': t.confirm.close },
        attributes: { header: { role: 'presentation' } }, // the page has its banner already
      },
    }),
  },
});

const roles = (set: Record<Tone, Roles>) =>
  Object.fromEntries(
    tones.flatMap((tone) =>
      Object.entries(set[tone]).map(([role, colour]) => [`--fw-${tone}-${role}`, colour] as const),
    ),
  );

const surface = (set: Record<string, string>) =>
  Object.fromEntries(Object.entries(set).map(([name, colour]) => [`--fw-${name}`, colour] as const));

const mantine = (set: (typeof surfaces)['light' | 'dark']) => ({
  '--mantine-color-body': set.page,
  '--mantine-color-text': set.text,
  '--mantine-color-dimmed': set.dim,
  '--mantine-color-default-border': set.line,
  '--mantine-color-anchor': set.accent,
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { ...surface(surfaces.light), ...roles(light), ...mantine(surfaces.light) },
  dark: { ...surface(surfaces.dark), ...roles(dark), ...mantine(surfaces.dark) },
});

/** The CSS value of a tone's role, for places that need it in a style or on a canvas. */
export const toneVar = (tone: Tone, role: keyof Roles) => `var(--fw-${tone}-${role})`;
