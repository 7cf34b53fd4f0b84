import {
  IconAlertTriangle,
  IconFlask,
  IconGauge,
  IconLayoutDashboard,
  IconRoute,
  IconTargetArrow,
  type TablerIcon,
} from '@tabler/icons-react';
import { t } from '@/texts';

/** The pages of the menu, in the order an operator needs them at 3 a.m. */
export const pages: { path: string; title: string; icon: TablerIcon }[] = [
  { path: '/', title: t.nav.overview, icon: IconLayoutDashboard },
  { path: '/incidents', title: t.nav.incidents, icon: IconAlertTriangle },
  { path: '/runs', title: t.nav.runs, icon: IconRoute },
  { path: '/drills', title: t.nav.drills, icon: IconFlask },
  { path: '/slos', title: t.nav.slos, icon: IconTargetArrow },
  { path: '/engines', title: t.nav.engines, icon: IconGauge },
];
