export const engines = {
  title: 'Indicators',
  engine: 'Engine',
  release: 'Release',
  explain:
    'What can be known of a service depends on what its engine exports. A bound says on which side of the truth it lies.',
  of: (engine: string, release: string) => `${engine}, release ${release}`,
  columns: { indicator: 'Indicator', grade: 'From the engine alone', from: 'Read from, or why not' },
  grades: { exact: 'Exact', bounded: 'Bound', unavailable: 'Not available' },
  bounds: { lower: 'Lower bound', upper: 'Upper bound', estimate: 'Estimate' },
  withSources: (grade: string, sources: string) => `${grade} with ${sources}`,
  needs: (what: string) => `Needs ${what}`,
  none: 'No engine is known',
  noneText: 'This installation has no engine profiles.',
};
