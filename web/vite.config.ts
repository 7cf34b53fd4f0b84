import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The API that `npm run dev` talks to; the built console is served by that API itself. */
const api = process.env.FLEETWARD_API ?? 'http://127.0.0.1:8700';

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@': here('./src'), '@test': here('./test') } },
  server: { host: '127.0.0.1', proxy: { '/api': { target: api } } },
  build: { target: 'es2022', sourcemap: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 750 },
  test: {
    environment: 'jsdom',
    environmentOptions: { jsdom: { url: 'http://127.0.0.1:8080/' } },
    include: ['src/**/*.test.{ts,tsx}', 'test/**/*.test.{ts,tsx}'],
    setupFiles: ['./test/setup.ts'],
    css: false,
    restoreMocks: true,
    testTimeout: 20_000,
  },
});
