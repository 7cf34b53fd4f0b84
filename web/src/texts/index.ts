/**
 * All words of the console. A language is one object of the type of `en`; adding one is a file and a line in
 * `languages`. It is chosen once, at load: the operator's choice, else the browser's, else English.
 */
import { en } from '@/texts/en';

export type Texts = typeof en;

const languages: Record<string, Texts> = { en };

function choose(): string {
  const wanted = [localStorage.getItem('fleetward-language'), ...navigator.languages];
  for (const each of wanted) {
    const base = each?.split('-')[0];
    if (base && base in languages) return base;
  }
  return 'en';
}

export const language = choose();

export const t: Texts = languages[language] ?? en;
