import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { build } from 'esbuild'
import { send } from '@tools/wires/agents'
import { launchChromium, needsChromium } from '@tools/wires/chromium'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'

const PACKAGE = resolve(import.meta.dirname, '../..')

/** The page of the README, with the chat that its address names. */
async function bundlePage(): Promise<string> {
  const [, page = ''] =
    /^```tsx\n([^]*?)^```/m.exec(readFileSync(resolve(PACKAGE, 'README.md'), 'utf8')) ?? []
  const contents = `${page}
import { createRoot } from 'react-dom/client'
const id = new URLSearchParams(location.search).get('id')
const response = await fetch('/api/chat/support/' + id)
const { messages } = response.ok ? await response.json() : { messages: [] }
createRoot(document.querySelector('#root')).render(<Page id={id} initialMessages={messages} />)`
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

const ask = defineTool({
  name: 'ask',
  description: 'Asks',
  input: Type.Object({}),
  execute: async (_, context) => String((await context.ask({ message: 'Which size?' })).content)
})

t.test(
  'useChat of React in Chromium: a stream, an approval, a question, a reload and a resumed stream',
  { ...needsChromium, timeout: 120_000 },
  async (t) => {
    const { promise: may, resolve: go } = Promise.withResolvers<void>()
    const scripted = scriptedModel([
      { text: ['Hello ', 'Ann'] },
      { toolCalls: [{ toolName: 'send', args: { to: 'ann' } }] },
      { toolCalls: [{ toolName: 'ask' }] },
      'Sent in L',
      'The last answer'
    ])
    let calls = 0
    const model = {
      ...scripted,
      async doStream(call: Parameters<typeof scripted.doStream>[0]) {
        if (++calls === 5) await may
        return scripted.doStream(call)
      }
    }
    const page = await bundlePage()
    const { origin } = await chatApp(t, {
      add: (registry) => new Agent({ name: 'support', model, registry, tools: [send, ask] }),
      async after(app) {
        app.get('/page.js', (_, reply) => reply.type('text/javascript').send(page))
        app.get('/', (_, reply) =>
          reply.type('text/html').send('<div id="root"></div><script type="module" src="/page.js"></script>')
        )
      }
    })
    const browser = await launchChromium()
    t.teardown(() => browser.close())
    const tab = await browser.newPage()
    const faults: string[] = []
    tab.on('pageerror', ({ message }) => faults.push(message))
    await tab.goto(`${origin}/?id=page-1`)
    const say = async (text: string) => {
      await tab.fill('form.message input', text)
      await tab.press('form.message input', 'Enter')
    }
    const answer = () => tab.locator('.assistant').last()

    await say('Hi')
    await answer().getByText('Hello Ann').waitFor()

    await say('Mail her')
    await answer().locator('.approval button', { hasText: 'Yes' }).click()
    await answer().locator('form.question').waitFor()
    t.comment('a reload while the run waits')
    await tab.reload()
    await answer().locator('form.question input').fill('L')
    await answer().locator('form.question input').press('Enter')
    await answer().getByText('Sent in L').waitFor()

    await say('And?')
    await tab.locator('main[data-status="streaming"], main[data-status="submitted"]').waitFor()
    t.comment('a reload while the run is under way: the page resumes its stream')
    await tab.reload()
    await tab.getByText('And?').waitFor()
    await tab.locator('main[data-status="streaming"], main[data-status="submitted"]').waitFor()
    go()
    await answer().getByText('The last answer').waitFor()
    await tab.locator('main[data-status="ready"]').waitFor()
    t.equal(await tab.locator('.assistant').count(), 3)
    t.equal(await tab.locator('.user').count(), 3)
    t.same(faults, [])
    t.equal(await tab.locator('output').count(), 0, 'no error is shown')
  }
)
