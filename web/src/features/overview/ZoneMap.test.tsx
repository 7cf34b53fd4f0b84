import { anOverview, aZone, noReadings } from '@test/factories';
import { answers, shell } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

const show = (zones = [aZone('zone-a')]) => {
  server.use(answers('/overview', anOverview({ zones })), ...shell());
  open('/');
};

describe('the zone map', () => {
  it('says of each zone how it does, what it yields and what share it gets', async () => {
    show();
    const zone = await screen.findByRole('article', { name: 'zone-a' });
    expect(zone).toHaveTextContent('Healthy');
    expect(zone).toHaveTextContent('50 % of new requests, weight 100');
    expect(within(zone).getByText('TTFT p95').nextSibling).toHaveTextContent('418 ms');
  });

  it('says that a zone without weight takes no traffic, why, and who holds it', async () => {
    const readings = { ...noReadings, etpm: 0 };
    show([
      aZone('zone-b', {
        weight: 0,
        share: 0,
        health: 'suspended',
        reason: 'TPOT 69 ms',
        holder: 'run-1',
        readings,
      }),
    ]);
    const zone = await screen.findByRole('article', { name: 'zone-b' });
    expect(zone).toHaveTextContent('Out of service');
    expect(zone).toHaveTextContent('no traffic weight 0');
    expect(zone).toHaveTextContent('TPOT 69 ms; held by run-1');
  });

  it('does not show what is not known as zero', async () => {
    show([aZone('zone-c', { health: 'unknown', readings: noReadings })]);
    const zone = await screen.findByRole('article', { name: 'zone-c' });
    expect(within(zone).getByText('eTPM').nextSibling).toHaveTextContent('—');
    expect(zone).toHaveTextContent('Unknown');
  });

  it.each([
    [true, 'Canary right'],
    [false, 'Canary wrong'],
    [null, 'Canary unknown'],
  ])('says what the canary said: %s', async (canary, word) => {
    const zone = aZone('zone-a');
    const [node] = zone.nodes;
    const [replica] = node?.replicas ?? [];
    if (!node || !replica) throw new Error('the factory makes one of each');
    show([{ ...zone, nodes: [{ ...node, schedulable: false, replicas: [{ ...replica, canary }] }] }]);
    expect(await screen.findByRole('article', { name: 'replica-a1-0' })).toHaveTextContent(word);
    expect(screen.getByText('Cordoned')).toBeInTheDocument();
  });

  it('says so when a service has no zones', async () => {
    show([]);
    expect(await screen.findByText('This service has no zones')).toBeInTheDocument();
  });
});
