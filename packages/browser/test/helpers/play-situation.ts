import type { RequestListener } from 'node:http'
import t from 'tap'
import { BrowserAgent, chromium, type Browser } from '@svc/browser'
import { scriptedModel } from '@svc/runtime/testing'
import type { RunInput } from '@svc/registry'
import { needsChromium } from './chromium.ts'
import { act, resultsIn } from './make-browser-agent.ts'
import { servePages } from './page-server.ts'

/** What a scripted model does once, and what it must be shown. */
export interface Step {
  /** The action, e.g. `click`. */
  readonly do: string
  /** The element: a part of its line in the page. */
  readonly on?: string
  /** The second element of a drag. */
  readonly onto?: string
  /** The path of a page to open. */
  readonly open?: string
  /** Further arguments of the action. */
  readonly with?: object
  /** In the result of the action, or in its error. */
  readonly shows: string | RegExp
}

/** A page, and the way of an agent through it. */
export interface Situation {
  /** The page, or pages by path, the first at `/`. */
  readonly pages: string | Readonly<Record<string, string>>
  /** Answers paths without a page. */
  readonly other?: RequestListener
  readonly input?: RunInput
  /** Milliseconds of an action, where one is to run out of time; default 10,000. */
  readonly timeout?: number
  readonly steps: readonly Step[]
}

type Test = {
  teardown(close: () => unknown): void
  match(found: unknown, wanted: unknown, message: string): unknown
}

// An action waits for its page most of the time.
const DESKS = 4

/** Tests situations by their names, in desks of one browser. */
export function playSituations(topic: string, situations: Readonly<Record<string, Situation>>): void {
  const browser = chromium({ sandbox: false, pages: DESKS })
  t.teardown(() => browser.close())
  t.test(topic, needsChromium, async (t) => {
    t.jobs = DESKS
    for (const [name, situation] of Object.entries(situations))
      t.test(name, { buffered: true }, (t) => playSituation(t, browser, situation))
  })
}

/** Runs a browser agent whose model opens the page of a situation and takes its steps. */
async function playSituation(
  t: Test,
  browser: Browser,
  { pages, other, input = 'Go', timeout = 10_000, steps }: Situation
): Promise<void> {
  const origin = await servePages(t, typeof pages === 'string' ? { '/': pages } : pages, other)
  const { host, port } = new URL(origin)
  const way: readonly Step[] = [{ do: 'open', open: '/', shows: origin }, ...steps]
  const results: string[] = []
  const agent = new BrowserAgent({
    name: 'player',
    register: false,
    browser,
    allow: [],
    // The same server is another site by its name.
    privateHosts: [host, `localhost:${port}`],
    files: { uploads: true, downloads: { types: ['text/csv', 'text/plain'] } },
    timeout: { action: timeout, navigation: 10_000 },
    model: scriptedModel(({ prompt }, index) => {
      if (index > 0) results.push(resultsIn(prompt).at(-1)!)
      const step = way[index]
      return step === undefined ? 'Done.' : act(step.do, toArgs(step, results, origin))
    })
  })
  await agent.run(input)
  for (const [index, step] of way.entries())
    t.match(results[index], step.shows, `${index}: ${step.do} ${step.on ?? ''}`)
}

function toArgs({ on, onto, with: more, open }: Step, results: readonly string[], origin: string): object {
  return {
    ...(on !== undefined && { ref: refOf(on, results) }),
    ...(onto !== undefined && { toRef: refOf(onto, results) }),
    ...(open !== undefined && { url: origin + open }),
    ...more
  }
}

// As a model does: the last page that showed the element says what its ref is.
function refOf(part: string, results: readonly string[]): string {
  const lines = results.toReversed().flatMap((result) => result.split('\n'))
  const ref = /\[ref=(\w+)\]/.exec(
    lines.find((line) => line.includes(part) && line.includes('[ref=')) ?? ''
  )?.[1]
  if (ref === undefined) throw new Error(`no ${part} in\n${results.at(-1)}`)
  return ref
}
