/** Which engine and release is looked at, and what each indicator is there. Pure. */
import type { EngineView, GenerationView, Graded, IndicatorView, Matrix } from '@/api/types';
import { t } from '@/texts';

export type Row = { indicator: IndicatorView; graded: Graded };

/** The engine and release of the link; an unknown one is the first engine, the newest release. */
export function chosen(
  matrix: Matrix,
  engineName: string | null,
  release: string | null,
): { engine: EngineView; generation: GenerationView } {
  const engine = matrix.engines.find((each) => each.name === engineName) ?? matrix.engines[0];
  const generation = engine?.generations.find((each) => each.name === release) ?? engine?.generations.at(-1);
  if (engine === undefined || generation === undefined) throw new Error('an engine without a release');
  return { engine, generation };
}

/** The library's indicators in its order, each with its grade. */
export const rows = (matrix: Matrix, generation: GenerationView): Row[] =>
  matrix.indicators.flatMap((indicator) => {
    const graded = generation.indicators.find((each) => each.indicator === indicator.name);
    return graded === undefined ? [] : [{ indicator, graded }];
  });

export const gradeWord = ({ grade, bound }: Pick<Graded, 'grade' | 'bound'>): string =>
  bound === null ? t.engines.grades[grade] : t.engines.bounds[bound];
