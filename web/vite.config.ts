import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import { licenses } from './licenses.ts'

const gateway = process.env.CALLGATE_URL ?? 'http://127.0.0.1:7420'

const toGateway = {
  target: gateway,
  changeOrigin: true,
  // The gateway refuses foreign origins; in development the page's own origin is one.
  headers: { origin: gateway },
}

// The gateway's own policy, so that `npm run preview` shows what it forbids.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
const proxy = { '/api': toGateway, '/healthz': toGateway, '/metrics': toGateway }

export default defineConfig({
  base: '/',
  plugins: [vue(), tailwindcss(), licenses()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: { proxy, fs: { allow: ['..'] } }, // docs/errors, which the page of a failed call quotes
  preview: { proxy, headers: { 'Content-Security-Policy': policy } },
  build: {
    outDir: '../src/callgate/ui',
    emptyOutDir: true,
    sourcemap: false,
    target: 'es2022',
    cssTarget: ['chrome115', 'firefox115', 'safari16.4'], // oklch() as written: older ones would double every colour
    // An inlined asset or script would need a weaker Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What the first page needs anyway comes in a few files: left alone it would be thirty of a kilobyte each.
        codeSplitting: {
          groups: [
            { name: 'vue', test: /node_modules[\\/](@vue|vue|vue-router|pinia)[\\/]/ },
            { name: 'parts', test: /[\\/]src[\\/](api|components|format|stores|keyboard|annotations)[\\/]/, minShareCount: 3 },
            { name: 'parts', test: /node_modules[\\/](@lucide|openapi-fetch)[\\/]/, minShareCount: 3 },
          ],
        },
      },
    },
  },
  // One document for all files: none leaves anything in it, and making one takes longer than a file's tests.
  test: { environment: 'happy-dom', include: ['src/**/*.test.ts'], isolate: false },
})
