import { drills } from '@/texts/en/drills';
import { engines } from '@/texts/en/engines';
import { incidents } from '@/texts/en/incidents';
import { overview } from '@/texts/en/overview';
import { runs } from '@/texts/en/runs';
import { shell } from '@/texts/en/shell';
import { slos } from '@/texts/en/slos';
import { words } from '@/texts/en/words';

export const en = { ...shell, words, overview, incidents, runs, drills, slos, engines };
