import { problem, url } from '@test/handlers';
import { server } from '@test/server';
import { HttpResponse, http } from 'msw';
import { describe, expect, it } from 'vitest';
import { type ApiError, api, asApiError, body, setCsrfToken } from '@/api/client';

const ask = () => body(api.GET('/api/v1/halts'));

async function failure(): Promise<ApiError> {
  return ask().then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => asApiError(error),
  );
}

describe('a failure', () => {
  it.each([
    [401, 'signedOut', false],
    [403, 'forbidden', false],
    [404, 'notFound', false],
    [409, 'conflict', false],
    [422, 'invalid', false],
    [503, 'server', true],
  ])('of status %s is of kind %s', async (status, kind, retryable) => {
    server.use(http.get(url('/halts'), () => problem(status, 'a_code', 'what happened', 'what to do')));
    const error = await failure();
    expect([error.kind, error.retryable]).toEqual([kind, retryable]);
    expect([error.message, error.code, error.hint]).toEqual(['what happened', 'a_code', 'what to do']);
  });

  it("that is not the API's own, such as a proxy's page, says so", async () => {
    server.use(http.get(url('/halts'), () => HttpResponse.html('<h1>502</h1>', { status: 502 })));
    const error = await failure();
    expect([error.kind, error.status, error.code]).toEqual(['server', 502, null]);
    expect(error.message).toContain('502');
  });

  it('of the network is an ApiError too', async () => {
    server.use(http.get(url('/halts'), () => HttpResponse.error()));
    const error = await failure();
    expect([error.kind, error.message]).toEqual(['network', 'The API cannot be reached.']);
  });
});

describe('the CSRF token', () => {
  it('goes with what writes, and with nothing else', async () => {
    const seen: (string | null)[] = [];
    server.use(
      http.get(url('/halts'), ({ request }) => {
        seen.push(request.headers.get('X-CSRF-Token'));
        return HttpResponse.json([]);
      }),
      http.delete(url('/halts/h'), ({ request }) => {
        seen.push(request.headers.get('X-CSRF-Token'));
        return HttpResponse.json({});
      }),
    );
    setCsrfToken('csrf-1');
    await ask();
    await body(api.DELETE('/api/v1/halts/{halt_id}', { params: { path: { halt_id: 'h' } } }));
    expect(seen).toEqual([null, 'csrf-1']);
  });
});
