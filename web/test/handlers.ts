/** Answers of a well API, for tests that need one; each test says which it needs. */
import { HttpResponse, http } from 'msw';
import type { Session } from '@/api/types';
import { anOverview } from './factories';

export const url = (path: string) => `*/api/v1${path}`;

export const answers = (path: string, body: unknown) =>
  http.get(url(path), () => HttpResponse.json(body as never));

export const problem = (status: number, code: string, detail: string, hint: string | null = null) =>
  HttpResponse.json(
    { type: 'about:blank', title: 'Problem', status, code, detail, hint, errors: [] },
    { status, headers: { 'content-type': 'application/problem+json' } },
  );

export const fails = (path: string, detail = 'the database does not answer') =>
  http.get(url(path), () => problem(503, 'unavailable', detail));

export const never = (path: string) => http.get(url(path), () => new Promise<never>(() => undefined));

export const signedOut: Session = {
  signedIn: false,
  name: null,
  role: null,
  expiresAt: null,
  csrfToken: null,
};

export const signedIn: Session = {
  signedIn: true,
  name: 'admin',
  role: 'admin',
  expiresAt: '2026-11-30T20:00:00Z',
  csrfToken: 'csrf-1',
};

/** What the shell asks for on every page. */
export const shell = (session: Session = signedOut) => [
  answers('/overview', anOverview()),
  answers('/auth/me', session),
];
