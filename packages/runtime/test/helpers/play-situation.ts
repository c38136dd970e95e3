import type { RequestListener } from 'node:http'
import { BrowserAgent, type Browser } from '@svc/runtime/browser'
import { scriptedModel } from '@svc/runtime/testing'
import type { RunInput } from '@svc/registry'
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
  readonly steps: readonly Step[]
}

type Test = {
  teardown(close: () => unknown): void
  match(found: unknown, wanted: unknown, message: string): unknown
}

/** Runs a browser agent whose model opens the page of a situation and takes its steps. */
export async function playSituation(
  t: Test,
  browser: Browser,
  { pages, other, input = 'Go', steps }: Situation
): Promise<void> {
  const origin = await servePages(t, typeof pages === 'string' ? { '/': pages } : pages, other)
  const way: readonly Step[] = [{ do: 'open', with: { url: origin }, shows: origin }, ...steps]
  const results: string[] = []
  const agent = new BrowserAgent({
    name: 'player',
    register: false,
    browser,
    allow: [],
    privateHosts: [new URL(origin).host],
    files: { uploads: true, downloads: { types: ['text/csv', 'text/plain'] } },
    timeout: { action: 3_000, navigation: 10_000 },
    model: scriptedModel(({ prompt }, index) => {
      if (index > 0) results.push(resultsIn(prompt).at(-1)!)
      const step = way[index]
      return step === undefined ? 'Done.' : act(step.do, toArgs(step, results))
    })
  })
  await agent.run(input)
  for (const [index, step] of way.entries())
    t.match(results[index], step.shows, `${index}: ${step.do} ${step.on ?? ''}`)
}

function toArgs({ on, onto, with: more }: Step, results: readonly string[]): object {
  return {
    ...(on !== undefined && { ref: refOf(on, results) }),
    ...(onto !== undefined && { toRef: refOf(onto, results) }),
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
