import { Type } from '@sinclair/typebox'
import { createInProcessStores } from '@svc/registry'
import { createInProcessStateStore, type KeptStates } from '@svc/browser'
import t from 'tap'
import type { FakePage } from '../helpers/fake-browser.ts'
import { collect, makeContext } from '../helpers/collect.ts'
import { act, makeBrowserAgent, resultsIn } from '../helpers/make-browser-agent.ts'

const SHOP = 'https://shop.example/'
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)
const pages: Record<string, FakePage> = {
  [SHOP]: {
    title: 'Shop',
    text: '- text: Rows\n- text: more ROWS\n- text: other',
    elements: {
      e1: { offers: { filename: 'rows.csv', content: 'a,b' } },
      e2: { offers: { filename: 'rows.csv', content: PNG.toString('latin1') } },
      e3: { offers: { filename: 'tool.exe', content: 'MZ' } },
      e4: { role: 'textbox', type: 'file' },
      e5: {}
    }
  }
}
const open = act('open', { url: SHOP })

t.test('downloads of allowed types become files of the run', async (t) => {
  const { agent } = makeBrowserAgent(
    [
      open,
      act('download', { ref: 'e1' }),
      act('click', { ref: 'e2' }),
      act('click', { ref: 'e3' }),
      act('download', { ref: 'e5' }),
      'Done.'
    ],
    pages,
    { files: { downloads: { types: ['text/csv'], maxBytes: 100 } } }
  )
  const { context } = makeContext()
  const { ofType } = await collect(agent.stream('Go', context))
  const [file, ...others] = ofType('file')
  t.match(file, {
    filename: 'rows.csv',
    mimeType: 'text/csv',
    size: 3,
    purpose: 'download',
    toolCallId: String
  })
  t.strictSame(others, [])
  t.ok(await context.stores.files?.get(context.runId, file!.fileId!))
  const results = ofType('tool.result').map(({ result }) => String(result))
  t.match(results[1], `as file ${file!.fileId}`)
  t.match(results[2], 'was refused: its content does not fit its name')
  t.match(results[3], 'was refused: ')
  t.match(ofType('tool.error'), [{ error: { message: /offered no file/ } }])
})

t.test('downloads and uploads are off unless they are asked for', async (t) => {
  const { agent, browser, model } = makeBrowserAgent([open, act('click', { ref: 'e1' }), 'Done.'], pages)
  const { toolCalls } = await agent.run('Go')
  t.match(toolCalls[1]?.result, 'downloads are not allowed')
  t.equal(browser.opened[0]?.maxDownloadBytes, undefined)
  const names = model.calls[0]?.tools?.map(({ name }) => name)
  for (const name of ['browser_upload', 'browser_download', 'browser_extract'])
    t.notOk(names?.includes(name), name)
})

t.test('pages get files of the user only', async (t) => {
  const upload = (name: string) => act('upload', { ref: 'e4', files: [name] })
  const { agent, browser } = makeBrowserAgent(
    [open, upload('/etc/passwd'), upload('cv.txt'), 'Done.'],
    pages,
    {
      files: { uploads: true }
    }
  )
  const data = Buffer.from('I did things.').toString('base64')
  const { toolCalls } = await agent.run([
    { type: 'text', text: 'Apply' },
    { type: 'file', mimeType: 'text/plain', filename: 'cv.txt', data }
  ])
  t.match(toolCalls[1]?.error?.message, 'the user sent no file "/etc/passwd"; there are cv.txt')
  t.equal(toolCalls[2]?.error, undefined)
  t.match(browser.acted[1], {
    action: 'upload',
    files: [{ name: 'cv.txt', mimeType: 'text/plain', data: Buffer.from('I did things.') }]
  })
})

t.test('screenshots: of each step, for the model, or on demand', async (t) => {
  const steps = makeBrowserAgent([open, act('hover', { ref: 'e5' }), 'Done.'], pages, {
    screenshots: 'steps'
  })
  const kept = (await collect(steps.agent.stream('Go'))).ofType('file')
  t.match(
    kept,
    [0, 1].map((step) => ({ filename: `step-${step}.jpg`, mimeType: 'image/jpeg', purpose: 'screenshot' }))
  )

  const several = { toolCalls: [...open.toolCalls, ...act('hover', { ref: 'e5' }).toolCalls] }
  const atOnce = makeBrowserAgent([several, 'Done.'], pages, { screenshots: 'steps' })
  const named = (await collect(atOnce.agent.stream('Go'))).ofType('file')
  t.match(named, [{ filename: 'step-0.jpg' }, { filename: 'step-0-2.jpg' }], 'each has a name of its own')

  const both = makeBrowserAgent([open, 'Done.'], pages, { see: 'both' })
  const { ofType } = await collect(both.agent.stream('Go'))
  t.match(ofType('file'), [{ filename: 'step-0.jpg', purpose: 'screenshot', toolCallId: 'call-1' }])
  const [shown] = resultsIn(both.model.calls[1]!.prompt)
  t.match(shown, 'Rows')
  t.match(shown, '"mediaType":"image/jpeg"')

  const asked = makeBrowserAgent([open, act('screenshot'), 'Done.'], pages)
  const parts = await collect(asked.agent.stream('Go'))
  const [file] = parts.ofType('file')
  t.match(parts.ofType('tool.result')[1]?.result, `Kept as file ${file?.fileId}`)
})

t.test('pixels: the model acts by coordinates, and sees no tree', async (t) => {
  const own = { [SHOP]: { ...pages[SHOP], elements: { '10,20': { name: 'Here' } } } }
  const { agent, model, browser } = makeBrowserAgent(
    [open, act('click', { x: 10, y: 20 }), act('click', { ref: 'e1' }), 'Done.'],
    own,
    {
      see: 'pixels'
    }
  )
  const { toolCalls } = await agent.run('Go')
  t.match(browser.acted[1], { action: 'click', at: { x: 10, y: 20 } })
  t.equal(toolCalls[2]?.error?.code, 'RUN_ERR_TOOL_BAD_ARGS')
  const [shown] = resultsIn(model.calls[1]!.prompt)
  t.notMatch(shown, 'Rows')
  t.match(shown, 'image/jpeg')
})

t.test('find and read', async (t) => {
  const { agent } = makeBrowserAgent(
    [open, act('find', { text: 'rows' }), act('read', { ref: 'e5' }), act('find', { text: 'more' }), 'Done.'],
    pages
  )
  const { toolCalls } = await agent.run('Go')
  t.match(toolCalls[1]?.result, /^2 lines have the text\.[^]*text: Rows\n- text: more ROWS\n\[page/)
  t.notMatch(toolCalls[2]?.result, 'Rows')
  t.match(toolCalls[3]?.result, /^1 line has the text\./)
})

t.test('extract validates what it hands over', async (t) => {
  const extract = Type.Object({ price: Type.Number() })
  const { agent } = makeBrowserAgent(
    [act('extract', { price: 'ten' }), act('extract', { price: 10 }), 'Done.'],
    pages,
    { extract }
  )
  const { ofType } = await collect(agent.stream('Go'))
  t.match(ofType('tool.error'), [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }])
  t.strictSame(ofType('data'), [{ type: 'data', name: 'extract', value: { price: 10 } }])
  t.throws(() => makeBrowserAgent('Hi', pages, { extract: Type.String() }), { code: 'RUN_ERR_BAD_TOOL' })
})

t.test('the state of a session is kept for its next run, and for no other', async (t) => {
  const states = createInProcessStateStore()
  const { agent, browser } = makeBrowserAgent((_, index) => (index % 2 === 0 ? open : 'Done.'), pages, {
    state: states
  })
  for (const sessionId of ['s1', 's1', 's2']) await agent.run('Go', { sessionId })
  t.strictSame(
    browser.opened.map(({ state }) => state?.cookies),
    [undefined, [{ name: 'seen', value: SHOP }], undefined]
  )
  for (const state of ['run', 'session'] as const) {
    const other = makeBrowserAgent((_, index) => (index % 2 === 0 ? open : 'Done.'), pages, {
      state,
      name: `state-${state}`
    })
    for (const sessionId of ['s1', 's1']) await other.agent.run('Go', { sessionId })
    t.equal(other.browser.opened[1]?.state !== undefined, state === 'session')
  }
})

t.test('a run that fails saves no state, and one whose store fails still closes its desk', async (t) => {
  const saved: unknown[] = []
  const failing: KeptStates = {
    load: () => undefined,
    save(_, state) {
      saved.push(state)
      throw new Error('full')
    },
    remove() {}
  }
  const { agent, browser } = makeBrowserAgent([open, { rejects: new Error('down') }], pages, {
    state: failing,
    retry: { attempts: 1 }
  })
  await t.rejects(agent.run('Go'))
  t.strictSame(saved, [])
  const done = makeBrowserAgent([open, 'Done.'], pages, { state: failing })
  t.equal((await done.agent.run('Go')).text, 'Done.')
  t.equal(saved.length, 1)
  t.equal(browser.openDesks + done.browser.openDesks, 0)
})

t.test('the store in memory forgets the sessions that were unused for longest', async (t) => {
  const store = createInProcessStateStore(2)
  const key = (sessionId: string) => ({
    registry: 'global',
    owner: 'ann',
    kind: 'agent' as const,
    name: 'a',
    sessionId
  })
  for (const id of ['1', '2', '3', '1', '4', '5']) store.save(key(id), { cookies: [{ id }], origins: [] })
  t.equal(store.load(key('2')), undefined)
  t.ok(store.load(key('1')))
  store.remove(key('1'))
  t.equal(store.load(key('1')), undefined)
})

t.test('state: session uses the store of the app, if it keeps such state', async (t) => {
  const states = createInProcessStateStore()
  const stores = { ...createInProcessStores(), browserStates: states }
  const { agent, browser } = makeBrowserAgent((_, index) => (index % 2 === 0 ? open : 'Done.'), pages, {
    state: 'session',
    name: 'stored-state'
  })
  for (let runs = 0; runs < 2; runs++) await agent.run('Go', { sessionId: 's1', stores })
  t.ok(browser.opened[1]?.state)
  const key = {
    registry: 'global',
    owner: 'anonymous',
    kind: 'agent' as const,
    name: 'stored-state',
    sessionId: 's1'
  }
  t.ok(states.load(key))
})
