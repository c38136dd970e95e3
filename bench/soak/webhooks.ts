import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isTerminalStatus, type RunStatus } from '@svc/registry'
import { startPostgres } from '@tools/postgres'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'
import type {
  WebhookLoad,
  WebhookOutcome,
  WorkerOptions,
  WorkerOrder,
  WorkerReport
} from './webhooks/load.ts'
import { MoodyReceiver } from './webhooks/receiver.ts'

const WORKER = fileURLToPath(new URL('webhooks/worker.ts', import.meta.url))
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
// Milliseconds from the report of an end to the kill, at most: the message may be on its way.
const KILLED_WITHIN = 15
const LOOK = 100
// A run that is killed before it can be resumed fails.
const EVENTS_OF: Partial<Record<RunStatus, readonly string[]>> = {
  completed: ['run.input-required', 'run.completed'],
  failed: ['run.failed']
}
// Milliseconds without an end of it.
const STALLED = 90_000

/** Processes of a service report runs to a receiver that seldom takes a message at once, and are killed when a run has ended. */
export async function webhooksUnderFire(load: WebhookLoad): Promise<WebhookOutcome> {
  const random = new Random(load.seed)
  const receiver = new MoodyReceiver(random, SECRET)
  const service = new ReportedService(load, random, await receiver.listen())
  try {
    const report = await service.run()
    let lost = report.left.filter((state) => state === 'dead').length
    for (const { runId, status, hasOne } of report.runs) {
      const paths = hasOne ? ['/all', '/one'] : ['/all']
      for (const path of paths)
        for (const event of EVENTS_OF[status] ?? []) if (!receiver.has(path, runId, event)) lost++
      if (EVENTS_OF[status] === undefined) lost++
    }
    const { unverified, early, counts } = receiver
    return { lost, unverified, early, ...counts, killed: service.killed }
  } finally {
    service.close()
    receiver.close()
  }
}

type Report = Extract<WorkerReport, { runs: unknown }>

class ReportedService {
  readonly #load: WebhookLoad
  readonly #random: Random
  readonly #hook: string
  readonly #children = new Set<ChildProcess>()
  readonly #listeners = new Set<() => void>()
  #replaced: Promise<void> | undefined
  #kills = false
  killed = 0

  constructor(load: WebhookLoad, random: Random, hook: string) {
    this.#load = load
    this.#random = random
    this.#hook = hook
  }

  async run(): Promise<Report> {
    const { processes, rounds, runs, kills } = this.#load
    for (let count = 0; count < processes; count++) await this.#start()
    await this.#ask(this.#any(), { hook: true }, 'hooked')
    for (let round = 0; round < rounds; round++) {
      this.#kills = this.#random.chance(kills)
      const isHit = this.#kills
      const ended = this.#ended(isHit ? 1 : runs)
      this.#any().send({ start: runs } satisfies WorkerOrder)
      await ended
      await this.#replaced
      this.#kills = false
    }
    return this.#settled()
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }

  async #start(): Promise<void> {
    const { store } = this.#load
    const options: WorkerOptions = { store, hook: this.#hook, secret: SECRET }
    const child = fork(WORKER, [JSON.stringify(options)], {
      execArgv: ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
    })
    child.on('message', (report: WorkerReport) => {
      if ('ended' in report) this.#hasEnded(child)
    })
    await reportOf(child, 'ready')
    this.#children.add(child)
  }

  #ask<Kind extends Kinds>(child: ChildProcess, order: WorkerOrder, kind: Kind) {
    child.send(order)
    return reportOf(child, kind)
  }

  #any(): ChildProcess {
    return this.#random.pick([...this.#children])
  }

  // Resolves when so many runs have ended, or nothing has for a while.
  async #ended(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    let left = count
    const listener = () => {
      if (--left === 0) resolve()
    }
    this.#listeners.add(listener)
    await Promise.race([promise, pause(STALLED, undefined, { ref: false })])
    this.#listeners.delete(listener)
  }

  #hasEnded(child: ChildProcess): void {
    for (const listener of this.#listeners) listener()
    if (!this.#kills) return
    this.#kills = false
    this.#replaced = this.#replace(child)
  }

  async #replace(child: ChildProcess): Promise<void> {
    await pause(this.#random.below(KILLED_WITHIN))
    this.killed++
    this.#children.delete(child)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    await this.#start()
  }

  // The last report: when all runs have ended and no message is left, or nothing changes any more.
  async #settled(): Promise<Report> {
    for (const from = performance.now(); ; await pause(LOOK)) {
      const report = await this.#ask(this.#any(), { look: true }, 'runs')
      const isOver =
        report.left.every((state) => state === 'dead') &&
        report.runs.every(({ status }) => isTerminalStatus(status))
      if (isOver || performance.now() - from > STALLED) return report
    }
  }
}

type Kinds = 'ready' | 'hooked' | 'runs'

// The next report of a kind. Runs that a new process resumes may end before it says that it is ready.
function reportOf<Kind extends Kinds>(child: ChildProcess, kind: Kind) {
  const { promise, resolve } = Promise.withResolvers<Extract<WorkerReport, Record<Kind, unknown>>>()
  const listener = (report: WorkerReport) => {
    if (!(kind in report)) return
    child.off('message', listener)
    resolve(report as Extract<WorkerReport, Record<Kind, unknown>>)
  }
  child.on('message', listener)
  return promise
}

/** 40 rounds on 4 nodes of Postgres, and 20 with a process on a file; in half of them a process is killed when a run has ended. */
export async function soakWebhooks(seed: number): Promise<Finding[]> {
  const server = await startPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-'))
  const common = { runs: 12, kills: 0.5, seed }
  const stores = [
    { store: { url: server.url, lease: { ttl: 3_000, beat: 500 } }, processes: 4, rounds: 40 },
    { store: { url: `sqlite:${join(folder, 'webhooks.db')}` }, processes: 1, rounds: 20 }
  ]
  const findings: Finding[] = []
  try {
    for (const each of stores) {
      const found = await webhooksUnderFire({ ...common, ...each })
      const { messages, repeated, killed } = found
      const kind = each.processes === 1 ? 'a file' : 'Postgres'
      console.log(`${kind}: ${messages} messages, ${repeated} repeated, ${killed} kills, seed ${seed}`)
      for (const what of ['lost', 'unverified', 'renamed', 'early'] as const)
        findings.push({
          what: `messages of webhooks ${what}, on ${kind}`,
          value: found[what],
          limit: 0,
          unit: 'messages'
        })
    }
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return findings
}
