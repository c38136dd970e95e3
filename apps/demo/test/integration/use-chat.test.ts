import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'esbuild'
import { findChromium } from '@svc/browser'
import { chromium } from 'playwright-core'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const PACKAGE = resolve(import.meta.dirname, '../../../../packages/ui-stream')
const executablePath = await findChromium().catch(() => undefined)

/** The page of the README of `@svc/ui-stream`, for another agent. */
async function bundlePage(agent: string): Promise<string> {
  const readme = readFileSync(resolve(PACKAGE, 'README.md'), 'utf8')
  const [, page = ''] = /^```tsx\n([^]*?)^```/m.exec(readme) ?? []
  const contents = `${page.replace('/chat/support', `/chat/${agent}`)}
import { createRoot } from 'react-dom/client'
createRoot(document.querySelector('#root')).render(<Page id="page-1" initialMessages={[]} />)`
  const { outputFiles } = await build({
    stdin: { contents, loader: 'tsx', resolveDir: PACKAGE },
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' }
  })
  return outputFiles[0]!.text
}

t.setTimeout(120_000)

t.test(
  'a page with useChat in Chromium talks to the demo, and approves what an agent wants to do',
  { skip: executablePath === undefined && 'no Chromium is installed; see CHROMIUM_PATH' },
  async (t) => {
    const app = await buildApp(
      readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
      createOfflineModel({ delay: 0 })
    )
    t.teardown(() => app.close())
    const page = await bundlePage('notes')
    app.get('/page.js', (_, reply) => reply.type('text/javascript').send(page))
    app.get('/page', (_, reply) =>
      reply.type('text/html').send('<div id="root"></div><script type="module" src="/page.js"></script>')
    )
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
    t.teardown(() => browser.close())
    const tab = await browser.newPage()
    await tab.goto(`${origin}/page`)
    const say = async (text: string) => {
      await tab.fill('form.message input', text)
      await tab.press('form.message input', 'Enter')
    }
    const answer = () => tab.locator('.assistant').last()

    await say('note: buy milk')
    await answer()
      .getByText(/buy milk/)
      .first()
      .waitFor()
    await tab.locator('main[data-status="ready"]').waitFor()
    await say('delete note 1')
    await answer().locator('.approval button', { hasText: 'Yes' }).click()
    await answer().locator('p').first().waitFor()
    await tab.locator('main[data-status="ready"]').waitFor()
    await say('list my notes')
    await tab.locator('.assistant').nth(2).locator('p').first().waitFor()
    await tab.locator('main[data-status="ready"]').waitFor()
    t.match(await answer().textContent(), /no notes/, 'the note is gone')
    t.equal(await tab.locator('output').count(), 0)
  }
)
