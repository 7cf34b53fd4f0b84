import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Journeys in a real browser. They need a running API: see tests/e2e/test_console.py, which starts one. */
export default defineConfig({
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  test: {
    environment: 'node',
    include: ['e2e/**/*.e2e.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
