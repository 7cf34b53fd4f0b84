import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { setCsrfToken } from '@/api/client';
import { server } from './server';

/** A canvas that draws nothing: jsdom has none, and what a chart is told is tested without it. */
vi.mock('uplot', () => ({
  default: class {
    setData() {}
    destroy() {}
  },
}));

/** A busy machine is slow, not wrong; a test that finds what it waits for does not wait on. */
configure({ asyncUtilTimeout: 8000 });

class NoResize {
  observe() {}
  unobserve() {}
  disconnect() {}
}

vi.stubGlobal('ResizeObserver', NoResize);
vi.stubGlobal('matchMedia', (query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
  addListener: () => undefined,
  removeListener: () => undefined,
}));
/** A field that grows with its text waits for fonts, which jsdom has none of. */
Object.defineProperty(document, 'fonts', { value: new EventTarget() });
Element.prototype.scrollIntoView = () => undefined;

/** A request that no test expects fails the test: a page that asks too much is a defect. */
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));

afterEach(() => {
  cleanup();
  server.resetHandlers();
  setCsrfToken(null);
  localStorage.clear();
});

afterAll(() => server.close());
