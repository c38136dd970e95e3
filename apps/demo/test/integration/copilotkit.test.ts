import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { bundlePage } from '@tools/copilotkit/bundle-page.ts'
import { BASE_PATH, serveRuntime } from '@tools/copilotkit/serve-runtime.ts'
import { findChromium } from '@svc/browser'
import { chromium } from 'playwright-core'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const executablePath = await findChromium().catch(() => undefined)
const HTML = '<div id="root"></div><script type="module" src="/page.js"></script>'

t.setTimeout(120_000)

t.test(
  'a page of CopilotKit in Chromium talks over its runtime to the demo: a tool of the page, an approval, several turns',
  { skip: executablePath === undefined && 'no Chromium is installed; see CHROMIUM_PATH' },
  async (t) => {
    process.env['COPILOTKIT_TELEMETRY_DISABLED'] = 'true'
    const app = await buildApp(
      readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
      createOfflineModel({ delay: 0 })
    )
    t.teardown(() => app.close())
    const service = await app.listen({ port: 0, host: '127.0.0.1' })

    const [page, runtime] = [await bundlePage(), serveRuntime(`${service}/api/ag-ui/notes`)]
    const server = createServer((request, response) => {
      const isScript = request.url === '/page.js'
      if (request.url!.startsWith(BASE_PATH)) runtime(request, response)
      else
        response
          .setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
          .end(isScript ? page : HTML)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => server.close())

    const browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
    t.teardown(() => browser.close())
    const tab = await browser.newPage()
    const faults: string[] = []
    tab.on('pageerror', ({ message }) => faults.push(message))
    await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const say = async (text: string) => {
      await tab.fill('form input', text)
      await tab.press('form input', 'Enter')
    }
    const answer = () => tab.locator('.assistant p').last()
    const rest = () => tab.locator('main[data-running="false"]').waitFor()

    await say('note: buy milk')
    await answer()
      .getByText(/buy milk/)
      .waitFor()
    await rest()
    await say('What is on my shopping list?')
    await answer()
      .getByText(/oat milk/)
      .waitFor()
    await rest()
    await say('delete note 1')
    await tab.locator('.interrupt button', { hasText: 'Yes' }).click()
    await tab.locator('.interrupt').waitFor({ state: 'detached' })
    await rest()
    await say('list my notes')
    await answer()
      .getByText(/no notes/)
      .waitFor()
    t.same(faults, [])
  }
)
