import { answers, problem, shell, signedIn, url } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, waitFor } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { afterEach, describe, expect, it } from 'vitest';

const TOKEN = 'a-token-of-more-than-sixteen';

function accept(seen: string[]) {
  server.use(
    http.post(url('/auth/exchange'), async ({ request }) => {
      seen.push(((await request.json()) as { token: string }).token);
      return HttpResponse.json(signedIn);
    }),
  );
}

afterEach(() => window.history.replaceState(null, '', '/'));

describe('signing in', () => {
  it('with a pasted token leads back to where one came from', async () => {
    const seen: string[] = [];
    server.use(...shell(), answers('/runs', { items: [], total: 0 }));
    accept(seen);
    const { user, router } = open('/sign-in?to=%2Fruns');
    await user.type(await screen.findByLabelText('Admin token'), ` ${TOKEN} `);
    await user.click(screen.getByRole('button', { name: 'Sign in' }));
    await waitFor(() => expect(router.state.location.pathname).toBe('/runs'));
    expect(seen).toEqual([TOKEN]);
  });

  it.each(['/', '/sign-in'])(
    'with a link to %s takes the token out of the address bar first',
    async (path) => {
      const seen: string[] = [];
      let bar = '';
      server.use(...shell());
      server.use(
        http.post(url('/auth/exchange'), async ({ request }) => {
          bar = window.location.href;
          seen.push(((await request.json()) as { token: string }).token);
          return HttpResponse.json(signedIn);
        }),
      );
      window.history.replaceState(null, '', `${path}#token=${TOKEN}`);
      const { router } = open(path);
      expect(await screen.findByRole('button', { name: 'Signed in as admin' })).toBeInTheDocument();
      await waitFor(() => expect(router.state.location.pathname).toBe('/'));
      expect(seen).toEqual([TOKEN]);
      expect(bar).not.toContain(TOKEN);
    },
  );

  it('with a used link says so, and offers the form', async () => {
    server.use(...shell());
    server.use(
      http.post(url('/auth/exchange'), () =>
        problem(401, 'signed_out', 'this token is unknown, used up or expired'),
      ),
    );
    window.history.replaceState(null, '', `/sign-in#token=${TOKEN}`);
    open('/sign-in');
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'This sign-in link is used up or has expired.',
    );
    expect(screen.getByLabelText('Admin token')).toBeInTheDocument();
  });

  it.each(['//evil.example', 'https://evil.example', 'javascript:alert(1)'])(
    'never leads to %s',
    async (to) => {
      server.use(...shell());
      accept([]);
      const { user, router } = open(`/sign-in?to=${encodeURIComponent(to)}`);
      await user.type(await screen.findByLabelText('Admin token'), TOKEN);
      await user.click(screen.getByRole('button', { name: 'Sign in' }));
      await waitFor(() => expect(router.state.location.pathname).toBe('/'));
    },
  );
});
