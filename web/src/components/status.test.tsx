import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { StatusBadge, wordOf } from '@/components/StatusBadge';
import { isListed } from '@/components/status';
import { t } from '@/texts';
import document from '../../openapi.json';

type Schema = { enum?: string[]; properties?: Record<string, Schema> };
const schemas = document.components.schemas as unknown as Record<string, Schema>;

const states = [
  ...[
    'RunState',
    'StepState',
    'IncidentState',
    'FaultState',
    'Health',
    'Verdict',
    'UndoStatus',
    'DrillVerdict',
  ].flatMap((name) => schemas[name]?.enum ?? [`${name} is missing from the API`]),
  ...(schemas.AttemptRecord?.properties?.outcome?.enum ?? ['no outcome']),
  ...(schemas.Decision?.properties?.outcome?.enum ?? ['no outcome']),
  ...(schemas.SourceState?.properties?.state?.enum ?? ['no state']),
  ...(schemas.OverviewView?.properties?.mode?.enum ?? ['no mode']),
];

describe('every state of the API', () => {
  it.each([...new Set(states)])('%s has a look and a word', (state) => {
    expect(isListed(state)).toBe(true);
    expect(t.words[state]).toBeDefined();
  });
});

describe('StatusBadge', () => {
  it('says a state in a word and an icon, never in colour alone', () => {
    const { container } = render(<StatusBadge state="firing" />);
    expect(screen.getByText('Firing')).toBeInTheDocument();
    expect(container.querySelector('svg[aria-hidden]')).not.toBeNull();
  });

  it('shows a state that it does not know, as words', () => {
    expect(wordOf('somethingNew_here')).toBe('Something new here');
  });
});
