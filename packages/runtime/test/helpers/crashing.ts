import { setImmediate, setTimeout } from 'node:timers/promises'
import {
  createInProcessStores,
  createRunEngine,
  type NumberedPart,
  type RunEngine,
  type RunInput,
  type Runnable,
  type RunResult,
  type StartOptions,
  type Stores
} from '@svc/registry'

/** Called with each part of a run's log, in order, by the process that executes it. */
type OnPart = (engine: RunEngine, part: NumberedPart) => unknown

/** What a run has left after its last process. */
export interface Survived {
  readonly parts: NumberedPart[]
  readonly result: RunResult | null | undefined
  readonly status: string | undefined
  /** The number of appends in its first process. */
  readonly appends: number
  readonly stores: Stores
  readonly runId: string
  readonly sessionId: string
}

/** Stores of a process that dies at one of its writes to the log: nothing it does from then on has an effect. */
function mortal(stores: Stores, lifetime: number, isSlow: boolean) {
  const { log, control, sessions, runs, checkpoints } = stores
  let appends = 0
  const died = Promise.withResolvers<void>()
  const isDead = () => appends > lifetime
  const never = () => new Promise<never>(() => {})
  const own: Stores = {
    ...stores,
    log: {
      ...log,
      abandon: () => {},
      append(...entry) {
        if (++appends > lifetime) died.resolve()
        if (isDead()) return never()
        return isSlow ? setImmediate().then(() => log.append(...entry)) : log.append(...entry)
      }
    },
    runs: { ...runs, recordStep: (...step) => (isDead() ? never() : runs.recordStep(...step)) },
    checkpoints: { ...checkpoints, remove: (runId) => (isDead() ? never() : checkpoints.remove(runId)) },
    control: { ...control, subscribe: () => () => {} },
    // A dead process holds no locks.
    sessions: {
      ...sessions,
      append: (...turn) => (isDead() ? never() : sessions.append(...turn)),
      lock: () => () => {}
    }
  }
  return { stores: own, died: died.promise, isDead, appends: () => appends }
}

/** What runs in such processes. */
interface SurvivingRun {
  /** Default: `Hi`. */
  input?: RunInput
  options?: StartOptions
  onPart?: OnPart
  isSlow?: boolean | undefined
  /** Fills the stores first. */
  before?: (stores: Stores) => unknown
}

/**
 * Runs something in a process that dies at its n-th append to the log, and in the next one to the end; each element of `lifetimes`
 * is one process, the last one lives. `make` makes the runnable of one process. With `isSlow`, writes take a turn of the event loop.
 */
export async function survive(
  make: () => Runnable,
  lifetimes: readonly number[],
  given: SurvivingRun = {}
): Promise<Survived> {
  const { input, options = {}, onPart = () => {}, isSlow = false } = { input: 'Hi', ...given }
  const stores = createInProcessStores()
  await given.before?.(stores)
  const engines: RunEngine[] = []
  let runId = ''
  let sessionId = ''
  let appends = 0
  for (const [index, lifetime] of [...lifetimes, Infinity].entries()) {
    const process = mortal(stores, lifetime, isSlow)
    const engine = createRunEngine({ stores: process.stores, drainTimeout: 0 })
    engines.push(engine)
    const runnable = make()
    if (index === 0) {
      const starting = engine.start(runnable, input, options)
      // The store dies with the process.
      const run = await Promise.race([starting, process.died.then(() => undefined)])
      if (run === undefined) throw new Error('a process must live to start the run')
      ;({ runId, sessionId } = run)
      run.result().catch(() => {})
    } else {
      await engine.recover()
      await engine.resume(runnable)
    }
    const over = follow(engine, runId, (part) => process.isDead() || onPart(engine, part))
    await Promise.race([over, process.died, tooLong(runId, engine)])
    if (index === 0) appends = process.appends()
    if ((await engine.get(runId))?.result || (await engine.get(runId))?.error) break
  }
  const parts: NumberedPart[] = []
  const last = engines.at(-1)!
  for await (const part of last.parts(runId)) parts.push(part)
  const record = await last.get(runId)
  // A dead one cannot, but its timers end.
  for (const engine of engines) void engine.close()
  return { parts, result: record?.result, status: record?.status, appends, stores, runId, sessionId }
}

async function tooLong(runId: string, engine: RunEngine): Promise<never> {
  await setTimeout(5_000, undefined, { ref: false })
  throw new Error(`a run hangs: ${JSON.stringify(await engine.find(runId))}`)
}

async function follow(
  engine: RunEngine,
  runId: string,
  onPart: (part: NumberedPart) => unknown
): Promise<void> {
  for await (const part of engine.parts(runId)) void onPart(part)
}

/** The parts that count: without those of attempts that a later one replaces. */
export function validParts(parts: readonly NumberedPart[]): NumberedPart[] {
  const valid: NumberedPart[] = []
  for (const part of parts) {
    if (part.type === 'step.start' && part.attempt > 1) {
      const source = part.source ?? []
      const from = valid.findLastIndex(
        (each) => each.type === 'step.start' && each.index === part.index && isSame(each.source, source)
      )
      if (from !== -1)
        for (let at = valid.length - 1; at >= from; at--)
          if (isSame(valid[at]!.source, source)) valid.splice(at, 1)
    }
    valid.push(part)
  }
  return valid
}

function isSame(source: readonly string[] = [], other: readonly string[]): boolean {
  return source.length === other.length && source.every((name, index) => name === other[index])
}
