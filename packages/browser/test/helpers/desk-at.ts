import type { RequestListener } from 'node:http'
import type { Browser, DeskAction, DeskOptions } from '../../src/browser.ts'
import { deskOptions } from './desk-options.ts'
import { servePages } from './page-server.ts'

/** A desk at the page `/` of a server, and what a test does with it. */
export async function deskAt(
  t: { teardown(close: () => unknown): void },
  browser: Browser,
  pages: string | Readonly<Record<string, string>>,
  { other, ...more }: Partial<DeskOptions> & { other?: RequestListener } = {}
) {
  const origin = await servePages(t, typeof pages === 'string' ? { '/': pages } : pages, other)
  const options = deskOptions(more)
  const desk = await browser.open(options)
  t.teardown(() => desk.close())
  const act = (action: DeskAction, signal = options.signal) => desk.act(action, signal)
  const text = async () => (await desk.look()).text
  /** The first element whose line in a look has this in it. */
  async function find(part: string): Promise<{ ref: string }> {
    const seen = await text()
    const line = seen.split('\n').find((each) => each.includes(part))
    const ref = /\[ref=(\w+)\]/.exec(line ?? '')?.[1]
    if (ref === undefined) throw new Error(`${part} is not in\n${seen}`)
    return { ref }
  }
  await act({ action: 'open', url: origin })
  return {
    desk,
    origin,
    act,
    text,
    find,
    click: async (part: string) => act({ action: 'click', at: await find(part) }),
    title: async () => (await desk.place()).title
  }
}
