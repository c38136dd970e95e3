import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ContractTest } from '@svc/contract'
import type { Browser, Desk, DeskAction, DeskOptions, Refusal } from '../browser.ts'

/** The ref in the line of a look that has this text. */
function refOf(text: string, what: string): string {
  const line = text.split('\n').find((candidate) => candidate.includes(what)) ?? ''
  const ref = /\[ref=(\w+)\]/.exec(line)?.[1]
  if (ref === undefined) throw new Error(`No ref of ${what} in:\n${text}`)
  return ref
}

/** The code of the error of a call; undefined if it succeeds. */
async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (err: { code?: unknown }) => err.code
  )
}

const PAGES: Readonly<Record<string, string>> = {
  '/': `<title>Start</title><h1>Start</h1><a href="/form">Form</a> <a href="/form" target="_blank">In a tab</a>
    <button onclick="document.body.append('pressed')">Press</button>`,
  '/form': `<title>Form</title><form action="/sent" method="post">
    <label>Name <input name="name"></label> <label>Secret <input type="password" name="secret" value="hunter2"></label>
    <label><input type="checkbox" name="agree"> Agree</label>
    <label>Color <select name="color"><option>red</option><option value="b">blue</option></select></label>
    <button>Send</button></form>`,
  '/upload': `<title>Upload</title><input type="file" aria-label="Paper"
    onchange="this.files[0].text().then((text) => document.body.append(this.files[0].name + ': ' + text))">`,
  '/dialogs': `<title>Dialogs</title><button onclick="document.title = prompt('Your name?')">Ask</button>`,
  '/files': `<title>Files</title><a href="/file">File</a> <a href="/endless">Endless</a>`,
  '/busy': `<title>Busy</title><button onclick="while (true);">Work</button>`,
  '/popups': `<title>Popups</title><button onclick="for (let n = 0; n < 5; n++) window.open('/')">Open</button>`,
  '/long': `<title>Long</title>${Array.from({ length: 2_000 }, (_, n) => `<p>Line ${n} of many</p>`).join('')}`,
  '/storage': `<title>Storage</title><script>
    document.body.append('found ' + document.cookie + ' ' + localStorage.getItem('kept'))
    document.cookie = 'kept=yes; max-age=1000'; localStorage.setItem('kept', 'too')</script>`,
  '/elsewhere': `<title>Elsewhere</title><img src="http://refused.example/image.png">`
}

const answer: RequestListener = (request, reply) => {
  const page = PAGES[request.url!]
  const attachment = { 'content-disposition': 'attachment; filename="data.csv"', 'content-type': 'text/csv' }
  if (page !== undefined) reply.setHeader('content-type', 'text/html').end(`<!doctype html><body>${page}`)
  else if (request.url === '/file') reply.writeHead(200, attachment).end('a,b\n1,2\n')
  else if (request.url === '/endless') {
    reply.writeHead(200, attachment)
    const timer = setInterval(() => reply.write('0'.repeat(10_000)), 5)
    reply.on('close', () => clearInterval(timer))
  } else if (request.url === '/sent') {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () =>
      reply.setHeader('content-type', 'text/html').end(`<title>Sent</title><p>${body}</p>`)
    )
  } else if (request.url !== '/silent') reply.writeHead(404).end()
}

/** Serves the pages that the contract of browsers is about, on a loopback address. */
async function serveContractSite(): Promise<{ origin: string; close(): void }> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
}

/** Creates the browser of the tests, which close it. */
export type MakeBrowser = () => Browser | Promise<Browser>

/** What a test of the contract works with. */
interface Bench {
  readonly browser: Browser
  /** Of the pages of the contract. */
  readonly origin: string
  /** Opens a desk, which is closed after the test. */
  open(options?: Partial<DeskOptions>): Promise<Desk>
  /** Performs an action without a signal of its own. */
  act(desk: Desk, action: DeskAction): ReturnType<Desk['act']>
  /** Opens a page of the contract in a desk of its own. */
  visit(path: string, options?: Partial<DeskOptions>): Promise<Desk>
}

const { signal } = new AbortController()

const CASES: Record<string, (t: ContractTest, bench: Bench) => Promise<void>> = {
  async 'opens a desk with one empty tab'(t, { open }) {
    const desk = await open()
    t.same(await desk.place(), {
      url: 'about:blank',
      title: '',
      tabs: [{ index: 0, url: 'about:blank', isCurrent: true }]
    })
    await desk.close()
    await desk.close()
  },
  async 'looks at a page'(t, { visit, origin, act }) {
    const desk = await visit('/')
    const look = await desk.look()
    t.equal(look.url, `${origin}/`)
    t.equal(look.title, 'Start')
    t.ok(refOf(look.text, 'button "Press"'))
    t.ok(look.text.includes('Start'))
    t.equal((await desk.look()).hash, look.hash, 'equal pages have equal hashes')
    await act(desk, { action: 'click', at: { ref: refOf(look.text, 'button "Press"') } })
    const next = await desk.look()
    t.ok(next.text.includes('pressed'))
    t.ok(next.hash !== look.hash)
    const part = await desk.look({ within: refOf(look.text, 'button "Press"') })
    t.ok(!part.text.includes('Form') && part.text.includes('Press'))
  },
  async 'leaves out what exceeds the limit of characters'(t, { visit }) {
    const desk = await visit('/long')
    for (const maxChars of [500, undefined]) {
      const look = await desk.look(maxChars === undefined ? {} : { maxChars })
      t.ok(look.text.length <= (maxChars ?? 24_000))
      t.ok(look.text.includes('Line 0 of many'))
      t.ok(look.omitted > 0)
    }
  },
  async 'fills in a form'(t, { visit, act }) {
    const desk = await visit('/form')
    const { text } = await desk.look()
    const at = (name: string) => ({ ref: refOf(text, name) })
    await act(desk, { action: 'type', at: at('textbox "Name"'), text: 'Ada & Co' })
    await act(desk, { action: 'type', at: at('textbox "Name"'), text: '.', append: true })
    await act(desk, { action: 'check', at: at('checkbox'), checked: true })
    await act(desk, { action: 'select', at: at('combobox'), values: ['blue'] })
    await act(desk, { action: 'click', at: at('button "Send"') })
    const sent = await desk.look()
    t.equal(sent.title, 'Sent')
    t.ok(sent.text.includes('name=Ada+%26+Co.&secret=hunter2&agree=on&color=b'), sent.text)
    await act(desk, { action: 'back' })
    t.equal((await desk.place()).title, 'Form')
  },
  async 'shows no password'(t, { visit }) {
    const desk = await visit('/form')
    const { text } = await desk.look()
    t.ok(text.includes('Secret'))
    t.ok(!text.includes('hunter2'))
  },
  async 'describes a target'(t, { visit, origin }) {
    const desk = await visit('/form')
    const { text } = await desk.look()
    const target = await desk.target({ ref: refOf(text, 'button "Send"') })
    t.equal(target.frameUrl, `${origin}/form`)
    t.equal(target.tag, 'button')
    t.equal(target.name, 'Send')
    t.equal(target.submits, true)
    t.same(target.form, { method: 'post', action: `${origin}/sent` })
  },
  async 'refuses refs that name nothing'(t, { visit, act }) {
    const desk = await visit('/')
    const at = { ref: 'e999' }
    t.equal(await codeOf(act(desk, { action: 'click', at })), 'RUN_ERR_BROWSER_STALE_REF')
    t.equal(await codeOf(desk.target(at)), 'RUN_ERR_BROWSER_STALE_REF')
    t.equal(await codeOf(desk.look({ within: 'e999' })), 'RUN_ERR_BROWSER_STALE_REF')
  },
  async 'has tabs, at most as many as allowed'(t, { visit, act, origin }) {
    const desk = await visit('/', { limits: { bytes: 10_000_000, tabs: 2 } })
    const open = { action: 'open', url: `${origin}/form`, newTab: true } as const
    await act(desk, open)
    const { tabs } = await desk.place()
    t.same(
      tabs.map(({ url, isCurrent }) => [url, isCurrent]),
      [
        [`${origin}/`, false],
        [`${origin}/form`, true]
      ]
    )
    t.equal(await codeOf(act(desk, open)), 'RUN_ERR_BROWSER_ACTION_FAILED')
    await act(desk, { action: 'tab', index: 0 })
    t.equal((await desk.place()).title, 'Start')
    await act(desk, { action: 'tab', index: 0, close: true })
    t.equal((await desk.place()).title, 'Form')
    await act(desk, { action: 'tab', index: 0, close: true })
    t.same((await desk.place()).url, 'about:blank', 'the last tab is replaced by an empty one')
    t.equal(await codeOf(act(desk, { action: 'tab', index: 7 })), 'RUN_ERR_BROWSER_ACTION_FAILED')
  },
  async 'opens popups as tabs'(t, { visit, act, origin }) {
    const desk = await visit('/')
    const { text } = await desk.look()
    const { notices } = await act(desk, { action: 'click', at: { ref: refOf(text, 'link "In a tab"') } })
    t.equal((await desk.place()).url, `${origin}/form`)
    t.equal(notices.length, 1)
    const other = await visit('/popups', { limits: { bytes: 10_000_000, tabs: 3 } })
    const look = await other.look()
    await act(other, { action: 'click', at: { ref: refOf(look.text, 'button "Open"') } })
    t.ok((await other.place()).tabs.length <= 3)
  },
  async 'lets the model answer dialogs'(t, { visit, act }) {
    const desk = await visit('/dialogs')
    const click = { action: 'click', at: { ref: refOf((await desk.look()).text, 'button "Ask"') } } as const
    await act(desk, click)
    t.same((await desk.place()).dialog, { type: 'prompt', message: 'Your name?' })
    t.same((await desk.look()).dialog, { type: 'prompt', message: 'Your name?' })
    await act(desk, { action: 'dialog', accept: true, text: 'Ada' })
    t.equal((await desk.place()).title, 'Ada')
    await act(desk, click)
    const { notices } = await act(desk, { action: 'press', key: 'Tab' })
    t.equal(notices.length, 1, 'another action dismisses it')
    t.equal((await desk.place()).dialog, undefined)
  },
  async 'opens allowed pages only'(t, { open, act, origin }) {
    const desk = await open({ hosts: { allows: () => false, mayBePrivate: () => false } })
    t.equal(await codeOf(act(desk, { action: 'open', url: origin })), 'RUN_ERR_BROWSER_HOST_REFUSED')
    for (const url of ['file:///etc/passwd', 'javascript:1', 'data:text/html,x', 'chrome://version', 'x'])
      t.ok(await codeOf(act(desk, { action: 'open', url })), url)
    t.equal((await desk.place()).url, 'about:blank')
  },
  async 'takes screenshots'(t, { visit }) {
    const { data, width, height, mimeType } = await (await visit('/form')).screenshot({ marks: true })
    t.equal(mimeType, 'image/jpeg')
    t.same([...data.subarray(0, 2)], [0xff, 0xd8])
    t.ok(width > 0 && height > 0)
  },
  async 'uploads files'(t, { visit, act }) {
    const desk = await visit('/upload')
    const ref = refOf((await desk.look()).text, 'button "Paper"')
    const file = { name: 'paper.txt', mimeType: 'text/plain', data: Buffer.from('canary') }
    await act(desk, { action: 'upload', at: { ref }, files: [file] })
    t.ok((await desk.look()).text.includes('paper.txt: canary'))
  },
  async 'keeps desks apart, and begins with the state that it is given'(t, { visit, act, origin }) {
    const first = await visit('/storage')
    t.ok((await first.look()).text.includes('found null'))
    await act(first, { action: 'reload' })
    t.ok((await first.look()).text.includes('found kept=yes too'))
    const state = await first.state()
    t.same(JSON.parse(JSON.stringify(state)), state, 'it is plain JSON')
    t.ok((await (await visit('/storage')).look()).text.includes('found null'), 'a desk of its own')
    const next = await visit('/storage', { state })
    t.ok((await next.look()).text.includes('found kept=yes too'), origin)
  },
  async 'ends an action when the signal aborts'(t, { open, origin }) {
    const desk = await open()
    const reason = new Error('gone')
    const controller = new AbortController()
    const acting = desk.act({ action: 'open', url: `${origin}/silent` }, controller.signal)
    setTimeout(() => controller.abort(reason), 50)
    t.equal(await acting.catch((err: unknown) => err), reason)
    await desk.act({ action: 'open', url: origin }, signal)
    t.equal((await desk.place()).title, 'Start', 'the desk continues')
  },
  async 'survives a page that never responds'(t, { visit, act, origin }) {
    const desk = await visit('/busy', { timeout: { action: 2_000, navigation: 10_000 } })
    const ref = refOf((await desk.look()).text, 'button "Work"')
    await codeOf(act(desk, { action: 'click', at: { ref } }))
    t.equal((await desk.place()).title, 'Busy')
    t.equal(await codeOf(desk.look()), 'RUN_ERR_BROWSER_ACTION_FAILED')
    const other = await visit('/')
    t.ok((await other.look()).text.includes('Start'), 'other desks are not affected')
    await act(desk, { action: 'open', url: origin, newTab: true })
    t.ok((await desk.look()).text.includes('Start'))
    await desk.close()
  },
  async 'closes all desks, and opens others afterwards'(t, { browser, open }) {
    const desk = await open()
    await browser.close()
    t.ok(await codeOf(desk.look()))
    await desk.close()
    await (await open()).close()
  }
}

// Only for a browser that guards its egress, and shares the disk.
const GUARDED_CASES: typeof CASES = {
  async 'reports connections that it refuses'(t, { visit, origin }) {
    const refused = Promise.withResolvers<Refusal>()
    const isOwn = (_host: string, port: number) => port === Number(new URL(origin).port)
    await visit('/elsewhere', {
      hosts: { allows: isOwn, mayBePrivate: isOwn },
      onBlocked: refused.resolve
    })
    t.same(await refused.promise, { host: 'refused.example', reason: 'host' })
  },
  async 'ends the connections of a desk that transfers too much'(t, { open, act, origin }) {
    const desk = await open({ limits: { bytes: 1_000, tabs: 1 } })
    const code = await codeOf(act(desk, { action: 'open', url: `${origin}/long` }))
    t.equal(code, 'RUN_ERR_BROWSER_TOO_LARGE')
    t.equal(await codeOf(act(desk, { action: 'reload' })), 'RUN_ERR_BROWSER_TOO_LARGE')
  },
  async 'downloads files up to a size'(t, { visit, act }) {
    const desk = await visit('/files', { maxDownloadBytes: 1_000 })
    const { text } = await desk.look()
    const click = (name: string) => act(desk, { action: 'click', at: { ref: refOf(text, name) } })
    const { downloads } = await click('link "File"')
    t.same(
      downloads.map(({ filename, size }) => [filename, size]),
      [['data.csv', 8]]
    )
    const chunks: Uint8Array[] = []
    for await (const chunk of downloads[0]!.content()) chunks.push(chunk)
    t.equal(Buffer.concat(chunks).toString(), 'a,b\n1,2\n')
    const endless = await click('link "Endless"')
    t.equal(endless.downloads.length, 0)
    t.equal(endless.notices.length, 1)
    t.equal((await desk.place()).title, 'Files')
    const without = await visit('/files')
    const refused = await act(without, {
      action: 'click',
      at: { ref: refOf((await without.look()).text, 'link "File"') }
    })
    t.equal(refused.downloads.length, 0)
    t.equal(refused.notices.length, 1)
  }
}

/** The contract tests of `Browser`. They serve pages of their own on 127.0.0.1, which the browser must reach. */
export function browserContract(t: ContractTest, makeBrowser: MakeBrowser): void {
  t.test('browser contract', {}, async (parent: ContractTest) => {
    const browser = await makeBrowser()
    const { origin, close } = await serveContractSite()
    const cases = { ...(browser.isGuarded && GUARDED_CASES), ...CASES }
    try {
      for (const [name, check] of Object.entries(cases))
        await parent.test(name, {}, async (child: ContractTest) => {
          const desks: Desk[] = []
          try {
            await check(child, createBench(browser, origin, desks))
          } finally {
            await Promise.all(desks.map((desk) => desk.close()))
          }
        })
    } finally {
      await browser.close()
      close()
    }
  })
}

const act: Bench['act'] = (desk, action) => desk.act(action, signal)

function createBench(browser: Browser, origin: string, desks: Desk[]): Bench {
  const open: Bench['open'] = async (options) => {
    const desk = await browser.open({
      hosts: { allows: () => true, mayBePrivate: () => true },
      signal,
      timeout: { action: 10_000, navigation: 20_000 },
      limits: { bytes: 10_000_000, tabs: 5 },
      ...options
    })
    desks.push(desk)
    return desk
  }
  return {
    browser,
    origin,
    act,
    open,
    async visit(path, options) {
      const desk = await open(options)
      await act(desk, { action: 'open', url: origin + path })
      return desk
    }
  }
}
