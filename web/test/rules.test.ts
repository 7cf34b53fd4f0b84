/** House rules of the console: sizes, where colours may stand, who imports whom, and that no word is left behind. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

function files(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    return statSync(join(root, path)).isDirectory() ? files(path) : [path];
  });
}

const all = ['src', 'test', 'e2e'].flatMap(files).filter((file) => file !== 'src/api/schema.d.ts');
const text = (file: string) => readFileSync(join(root, file), 'utf8');
const COLOUR = /#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|oklch)\(/i;
const IMPORT = /from '(@\/features\/([a-z]+)\/[^']+)'/g;

describe('the rules', () => {
  it('look at something', () => expect(all.length).toBeGreaterThan(50));

  it('keep files to 300 lines', () => {
    expect(all.filter((file) => text(file).split('\n').length > 301 && !/factories/.test(file))).toEqual([]);
  });

  it('keep colours in the theme', () => {
    const coloured = all.filter((file) => file.startsWith('src/') && COLOUR.test(text(file)));
    expect(coloured).toEqual(['src/theme.ts']);
  });

  it('keep features from importing one another', () => {
    const wrong = all
      .filter((file) => file.startsWith('src/features/') || file.startsWith('src/components/'))
      .flatMap((file) => {
        const own = relative('src/features', file).split('/')[0];
        return [...text(file).matchAll(IMPORT)]
          .filter((match) => match[2] !== own)
          .map((match) => `${file}: ${match[1]}`);
      });
    expect(wrong).toEqual([]);
  });
});
