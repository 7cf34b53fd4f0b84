/**
 * The one way to the API: typed by the generated schema, every failure an `ApiError`.
 *
 * Reading the body of an error happens here and nowhere else. Network failures, proxies that answer HTML and
 * the API's own problem+json (RFC 9457) all become the same class, so a page asks only `error.kind`.
 */
import createClient, { type Middleware } from 'openapi-fetch';
import type { paths } from '@/api/schema';
import { t } from '@/texts';

export type ErrorKind =
  | 'network'
  | 'signedOut'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'invalid'
  | 'server';

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    message: string,
    readonly kind: ErrorKind,
    readonly status: number | null = null,
    readonly code: string | null = null,
    readonly hint: string | null = null,
  ) {
    super(message);
  }

  /** True where the same request may succeed later without anybody changing anything. */
  get retryable(): boolean {
    return this.kind === 'network' || this.kind === 'server';
  }
}

function kindOf(status: number): ErrorKind {
  if (status === 401) return 'signedOut';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'notFound';
  if (status === 409) return 'conflict';
  if (status >= 400 && status < 500) return 'invalid';
  return 'server';
}

type Problem = { title?: string; detail?: string; code?: string; hint?: string | null };

async function toError(response: Response): Promise<ApiError> {
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  const problem: Problem = isProblem ? await response.json().catch(() => ({})) : {};
  const message = problem.detail ?? problem.title ?? t.errors.unexpectedAnswer(response.status);
  return new ApiError(
    message,
    kindOf(response.status),
    response.status,
    problem.code ?? null,
    problem.hint ?? null,
  );
}

/** The CSRF token of the present session; it is worthless without the HttpOnly cookie beside it. */
let csrfToken: string | null = null;

export function setCsrfToken(token: string | null) {
  csrfToken = token;
}

const writes = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

const middleware: Middleware = {
  onRequest({ request }) {
    if (csrfToken !== null && writes.has(request.method)) request.headers.set('X-CSRF-Token', csrfToken);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await toError(response);
    return response;
  },
  onError({ error }) {
    if (error instanceof ApiError || (error instanceof DOMException && error.name === 'AbortError'))
      return error as Error;
    return new ApiError(t.errors.unreachable, 'network');
  },
};

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => fetch(request),
});
api.use(middleware);

/** The body of an answer; the middleware has already thrown for every answer that is not a success. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<T> {
  const { data } = await answer;
  return data as T;
}

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(t.errors.unknown, 'server');
