// Whose work the built page carries, and under which words: licenses.txt beside index.html.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

// Their CSS and fonts are in the page, and no module of theirs is.
const WITHOUT_MODULES = ['@fontsource-variable/geist', '@fontsource-variable/geist-mono', 'daisyui', 'tailwindcss']
const PACKAGE = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/

function wordsOf(root: string, name: string): string {
  const folder = join(root, 'node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file ? readFileSync(join(folder, file), 'utf8').replace(/\r/g, '').trim() : `License: ${license}`
  return `${name} ${version} (${license})\n\n${text}\n`
}

export function licenses(): Plugin {
  let root = ''
  return {
    name: 'callgate-licenses',
    apply: 'build',
    configResolved(config) {
      root = config.root
    },
    generateBundle() {
      const bundled = [...this.getModuleIds()].flatMap((id) => PACKAGE.exec(id.replaceAll('\\', '/'))?.[1] ?? [])
      const names = [...new Set([...bundled, ...WITHOUT_MODULES])].sort()
      const line = '\n' + '-'.repeat(80) + '\n\n'
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: names.map((name) => wordsOf(root, name)).join(line) })
    },
  }
}
