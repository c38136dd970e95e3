import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { NumberedPart } from '@svc/registry'
import { Random } from '../random.ts'
import { answer, isAsking, startJob, SURFACES, type Surface } from './clients.ts'
import { collectRun, compareRuns, DIFFERENCES, type EndedRun } from './ended-run.ts'
import { followRun } from './follow-run.ts'
import { Ledger } from './ledger.ts'
import { randomJob, type Job } from './random-plan.ts'
import { Service } from './service.ts'
import { leftovers, unfinishedLogs } from './stored-runs.ts'
import { faultsOfLedger, WorkRecord } from './work-record.ts'

/** How agents are killed. */
export interface KillOptions {
  /** Runs that a kill must hit. */
  count: number
  seed: number
  /** Runs at once. */
  batch: number
}

/** What came of it: how often each thing happened, and what went wrong. */
export interface Killed {
  counts: Record<string, number>
  faults: Record<string, string[]>
}

/** Milliseconds within which every run must end once nothing is killed any more. */
const ENDS_WITHIN = 90_000
/** Milliseconds between two parts of a model's stream, so that kills hit what is under way. */
const PACE = 4
/** Milliseconds within which a batch is killed, and within which the next process is. */
const KILL_WITHIN = 700
const KILL_AGAIN_WITHIN = 500
/** Milliseconds within which an answer comes. */
const ANSWER_WITHIN = 250

/** Starts random runs, kills their service at random moments, starts it again, and compares with what nothing interrupted. */
export async function killAgents({ count, seed, batch }: KillOptions): Promise<Killed> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-kills-'))
  const file = (name: string) => join(folder, name)
  const killed = { db: file('killed.db'), ledger: file('killed'), pace: PACE }
  const service = new Service(killed)
  const unbroken = new Service({ db: file('unbroken.db'), ledger: file('unbroken'), pace: 0 })
  const kills = new AgentKills(service, unbroken, killed, new Random(seed))
  try {
    await Promise.all([service.start(), unbroken.start()])
    while (kills.hit < count) await kills.round(batch)
    return await kills.result()
  } finally {
    await Promise.all([service.kill(), unbroken.kill()])
    rmSync(folder, { recursive: true, force: true })
  }
}

class AgentKills {
  readonly #service: Service
  readonly #unbroken: Service
  readonly #random: Random
  readonly #db: string
  readonly #ledger: Ledger
  readonly #work: WorkRecord
  readonly #counts: Record<string, number> = {}
  readonly #faults: Record<string, string[]> = Object.fromEntries(DIFFERENCES.map((what) => [what, []]))
  readonly #unrecorded = new Set<string>()
  #jobs = 0
  hit = 0

  constructor(
    service: Service,
    unbroken: Service,
    { db, ledger }: { db: string; ledger: string },
    random: Random
  ) {
    this.#service = service
    this.#unbroken = unbroken
    this.#random = random
    this.#db = db
    this.#ledger = new Ledger(ledger)
    this.#work = new WorkRecord(this.#ledger, (key) => this.#unrecorded.has(key))
  }

  /** A batch of runs, some kills, and the comparison. */
  async round(batch: number): Promise<void> {
    // Everything random is drawn here, in one order, so that the seed decides it.
    const random = this.#random
    const jobs = Array.from({ length: batch }, () => randomJob(random, `r${++this.#jobs}`))
    const surfaces = jobs.map((job) => surfaceFor(job, random))
    const clients = jobs.map(() => new Random(random.below(1e9)))
    const moments = killMoments(random)
    for (const job of jobs) this.#noteUnrecorded(job)

    const unbroken = Promise.all(jobs.map((job) => this.#runUnbroken(job)))
    const ids = jobs.map((job, index) => startJob(this.#service, job, surfaces[index]!))
    // Nothing is killed any more when a session is continued: that is not what is tested here.
    const calm = Promise.withResolvers<void>()
    const ends = jobs.map(async (job, index) =>
      this.#follow(job, await ids[index]!, clients[index]!, calm.promise)
    )
    const settled = Promise.allSettled(ends)
    // Over HTTP a start can be repeated; any other must be acknowledged before the first kill.
    await Promise.all(ids.filter((_, index) => surfaces[index] !== 'http'))
    const hit = await this.#kill(moments)
    calm.resolve()
    await Promise.race([settled, wait(ENDS_WITHIN, undefined, { ref: false })])
    this.#work.look()

    const expected = await unbroken
    for (const [index, job] of jobs.entries()) {
      if (hit.has(await ids[index]!)) this.hit++
      const run = await Promise.race([
        ends[index]!.catch((err: unknown) => String(err)),
        wait(0, 'it is still under way')
      ])
      if (typeof run === 'string') this.#fault('did not end', job, run)
      else this.#compare(job, run, expected[index]!)
    }
  }

  async result(): Promise<Killed> {
    const { repeatedSteps, repeatedCalls, repeatedRuns } = this.#work
    const { effects, prompts, keys } = faultsOfLedger(this.#ledger)
    return {
      counts: {
        'runs hit by a kill': this.hit,
        kills: this.#service.starts - 1,
        ...this.#counts,
        'runs of one model call begun again': repeatedRuns
      },
      faults: {
        ...this.#faults,
        'finished steps whose model was called again': repeatedSteps,
        'recorded tools that were called again': repeatedCalls,
        'effects that happened twice': effects,
        'calls with another idempotency key': keys,
        'prompts that changed': prompts,
        'private data left of a run that has ended': await leftovers(this.#db)
      }
    }
  }

  async #kill(moments: readonly number[]): Promise<Set<string>> {
    const hit = new Set<string>()
    for (const moment of moments) {
      await wait(moment)
      await this.#service.kill()
      this.#work.look()
      for (const [runId, log] of await unfinishedLogs(this.#db)) {
        hit.add(runId)
        this.#work.killed(log)
      }
      await this.#service.start()
    }
    return hit
  }

  async #runUnbroken(job: Job): Promise<EndedRun> {
    const service = this.#unbroken
    const runId = await startJob(service, job, 'http')
    const received = await followRun(service, runId, {
      random: new Random(0),
      onPart: (part) => {
        if (isAsking(part)) this.#await(job, answer(service, runId, part, 'http'))
      }
    })
    return collectRun(service, job, runId, received)
  }

  async #follow(job: Job, runId: string, random: Random, calm: Promise<void>): Promise<EndedRun> {
    const service = this.#service
    const onPart = (part: NumberedPart) => {
      if (!isAsking(part)) return
      const surface = surfaceToAnswer(job, random)
      this.#count(`answers over ${surface}`)
      const late = wait(random.below(ANSWER_WITHIN))
      this.#await(
        job,
        late.then(() => answer(service, runId, part, surface))
      )
    }
    const received = await followRun(service, runId, { random, onPart })
    await calm
    return collectRun(service, job, runId, received)
  }

  #await(job: Job, answering: Promise<void>): void {
    answering.catch((err: unknown) => this.#fault('did not end', job, String(err)))
  }

  #compare(job: Job, run: EndedRun, expected: EndedRun): void {
    this.#count('runs')
    this.#count(`runs of ${job.name}`)
    for (const part of run.log) {
      if (part.type === 'step.start' && part.attempt > 1) this.#count('steps begun again')
      if (part.type === 'tool.error' && part.error.code === 'RUN_ERR_TOOL_INTERRUPTED')
        this.#count('tools interrupted')
    }
    for (const [difference, details] of compareRuns(run, expected)) this.#fault(difference, job, details)
  }

  #fault(what: string, job: Job, details: unknown): void {
    this.#faults[what]!.push(JSON.stringify({ job, details }))
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }

  // Nothing is recorded of a run that is one model call of its own, without tools: it is begun again.
  #noteUnrecorded({ kind, name, plan }: Job): void {
    if (kind === 'agent' && plan.steps.length === 0 && plan.wrong !== true)
      this.#unrecorded.add(`${plan.id}/${name} answers 0`)
    if (name === 'choir') this.#unrecorded.add(`${plan.id}/${name} merges`)
  }
}

// Messages of A2A carry no tools of the client, and are for agents only.
function surfaceFor({ kind, plan }: Job, random: Random): Surface {
  const isMessage = kind === 'agent' && !JSON.stringify(plan).includes('"pick"')
  return random.pick(isMessage ? SURFACES : ['http', 'socket'])
}

function surfaceToAnswer({ kind }: Job, random: Random): Surface {
  return random.pick(kind === 'agent' ? SURFACES : ['http', 'socket'])
}

// Milliseconds after the start, and after each start again.
function killMoments(random: Random): number[] {
  const times = random.chance(0.35) ? 2 + random.below(2) : 1
  return Array.from({ length: times }, (_, time) =>
    random.below(time === 0 ? KILL_WITHIN : KILL_AGAIN_WITHIN)
  )
}
