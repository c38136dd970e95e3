import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { createRunEngine, type Run } from '@svc/registry'
import { chromium, type Browser } from '@svc/browser'
import { listeners, until, useTemporaryFolder } from '../leftovers.ts'
import { Random } from '../random.ts'
import { createAgents, ENDS, PAGE, type End } from './buyers.ts'
import { browserGroups, killBrowsers, killPage, livingOf } from './incidents.ts'

/** How often each happens. */
const WEIGHTS: Readonly<Record<End, number>> = {
  completes: 10,
  'is canceled': 6,
  throws: 3,
  'times out': 3,
  'page crashes': 2,
  'browser is killed': 1
}

/** What was observed. */
export interface Abuse {
  readonly counts: ReadonlyMap<string, number>
  /** Milliseconds from each crash of a page or the browser until the next desk was open. */
  readonly recoveries: readonly number[]
  /** What is left once all runs have ended: with the browser idle, and after it is closed. */
  readonly idle: Readonly<Record<'listeners' | 'runs', number>>
  readonly closed: Readonly<Record<'processes' | 'files' | 'listeners', number>>
  readonly faults: readonly string[]
}

/** Runs a browser agent `count` times, `batch` at once: some runs are canceled, time out, throw, or lose their page or the browser. */
export async function abuseBrowser(count: number, seed: number, batch: number): Promise<Abuse> {
  const random = new Random(seed)
  const folder = useTemporaryFolder()
  const site = createServer((_request, reply) => reply.setHeader('content-type', 'text/html').end(PAGE))
  await once(site.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`
  const browser = chromium({ sandbox: false, pages: batch + 1 })
  const engine = createRunEngine()
  const agents = createAgents(browser, host)
  const counts = new Map<string, number>()
  const groups = new Set<number>()
  const recoveries: number[] = []
  const faults: string[] = []

  let incident = Promise.resolve()

  async function disturb(end: End): Promise<void> {
    for (const group of browserGroups()) groups.add(group)
    if (end === 'browser is killed') killBrowsers()
    else killPage((pages) => random.pick(pages))
    recoveries.push(await timeToOpen(browser))
  }

  async function runOnce(): Promise<void> {
    const end = pickEnd(random)
    const run = await engine.start(agents[end], 'Buy one.')
    if (end === 'is canceled') await pause(random.below(400)).then(() => run.cancel())
    if (end === 'page crashes' || end === 'browser is killed') {
      await pause(random.below(300))
      // One at a time: a desk that opens survives one crash, not any number.
      await (incident = incident.then(() => disturb(end)))
    }
    const { outcome, error } = await endOf(run)
    const what = `${end}: ${outcome}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
    if (!isExpected(end, outcome)) faults.push(`${what}${error === undefined ? '' : `, ${inspect(error)}`}`)
  }

  try {
    let started = 0
    const worker = async () => {
      while (started++ < count) await runOnce()
    }
    await Promise.all(Array.from({ length: batch }, worker))
    for (const group of browserGroups()) groups.add(group)
    // A desk whose opening was canceled is closed after its run has ended.
    await until(() => listeners() === 1)
    const idle = { listeners: listeners() - 1, runs: engine.active }
    await engine.close()
    await browser.close()
    site.close()
    site.closeAllConnections()
    await until(() => listeners() === 0)
    const closed = {
      processes: livingOf(groups).length,
      files: readdirSync(folder).length,
      listeners: listeners()
    }
    return { counts, recoveries, idle, closed, faults }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function pickEnd(random: Random): End {
  return random.pick(ENDS.flatMap((end) => Array.from({ length: WEIGHTS[end] }, () => end)))
}

async function endOf(run: Run): Promise<{ outcome: string; error?: Error }> {
  return run.result().then(
    ({ finishReason }) => ({ outcome: finishReason }),
    (error: Error & { code?: string }) => ({ outcome: error.code ?? error.message, error })
  )
}

// Any run may meet a crash that another one caused: the model reads of it, and continues.
function isExpected(end: End, outcome: string): boolean {
  if (end === 'is canceled') return ['canceled', 'stop'].includes(outcome)
  if (end === 'throws') return outcome !== 'stop'
  if (end === 'times out') return outcome !== 'stop'
  return outcome === 'stop'
}

async function timeToOpen(browser: Browser): Promise<number> {
  const begin = performance.now()
  const { signal } = new AbortController()
  const desk = await browser.open({
    hosts: { allows: () => false, mayBePrivate: () => false },
    signal,
    timeout: { action: 2_000, navigation: 2_000 },
    limits: { bytes: 1_000, tabs: 1 }
  })
  const took = performance.now() - begin
  await desk.close()
  return took
}
