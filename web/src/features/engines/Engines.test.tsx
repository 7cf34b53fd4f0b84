import { aMatrix } from '@test/factories';
import { answers, shell } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen } from '@testing-library/react';
import { beforeEach, describe, expect, it } from 'vitest';

describe('the indicators of an engine', () => {
  beforeEach(() => server.use(answers('/engines', aMatrix()), ...shell()));

  it('are those of the newest release, until another is chosen', async () => {
    const { user, router } = open('/engines');
    expect(await screen.findByText('Exact')).toBeInTheDocument();
    await user.click(screen.getByRole('radio', { name: '0.6' }));
    expect(await screen.findByText('Estimate')).toBeInTheDocument();
    expect(screen.getByText('gaps between output events')).toBeInTheDocument();
    expect(router.state.location.search).toBe('?engine=vllm&release=0.6');
  });

  it('say what is missing, and what would help', async () => {
    open('/engines?engine=tgi');
    expect(await screen.findByText('Not available')).toBeInTheDocument();
    expect(screen.getByText('the engine does not count it')).toBeInTheDocument();
    expect(screen.getByText('Exact with envoy')).toBeInTheDocument();
    expect(screen.getByText('Needs a gateway')).toBeInTheDocument();
    expect(screen.queryByRole('radiogroup', { name: 'Release' })).toBeNull();
  });

  it('of a link that names what does not exist are those of the first', async () => {
    open('/engines?engine=gone&release=9');
    expect(await screen.findByText('Exact')).toBeInTheDocument();
  });
});
