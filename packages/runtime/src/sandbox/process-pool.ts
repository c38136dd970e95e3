import { RUN_ERR_SANDBOX_BUSY, RUN_ERR_SANDBOX_CLOSED, RUN_ERR_SANDBOX_FAILED } from '../errors.ts'
import type { SandboxProcess } from './sandbox-process.ts'

const START_MS = 15_000

/** Limits of the number of processes and of the queue. */
export interface PoolBounds {
  readonly processes: number
  readonly maxQueue: number
}

type Waiter = PromiseWithResolvers<SandboxProcess>

/** Starts children on demand, and keeps them for the next program. */
export class ProcessPool {
  readonly #start: () => SandboxProcess
  readonly #bounds: PoolBounds
  readonly #all = new Set<SandboxProcess>()
  readonly #idle: SandboxProcess[] = []
  readonly #waiters: Waiter[] = []
  #starting = 0
  #closed = false

  constructor(start: () => SandboxProcess, bounds: PoolBounds) {
    this.#start = start
    this.#bounds = bounds
  }

  /**
   * Takes a child for exclusive use, until `give`.
   * @throws RUN_ERR_SANDBOX_CLOSED, RUN_ERR_SANDBOX_BUSY, RUN_ERR_SANDBOX_FAILED, or the reason of the signal
   */
  async take(signal: AbortSignal | undefined): Promise<SandboxProcess> {
    if (this.#closed) throw new RUN_ERR_SANDBOX_CLOSED()
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop())
      if (!idle.isKilled) return idle
    if (this.#waiters.length >= this.#bounds.maxQueue) throw new RUN_ERR_SANDBOX_BUSY(this.#waiters.length)
    const waiter: Waiter = Promise.withResolvers()
    const leave = () => {
      this.#waiters.splice(this.#waiters.indexOf(waiter) >>> 0, 1)
      waiter.reject(signal!.reason)
    }
    this.#waiters.push(waiter)
    signal?.addEventListener('abort', leave, { once: true })
    this.#grow()
    try {
      return await waiter.promise
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Returns a child to the pool; replaces it unless it is certainly clean. */
  give(process: SandboxProcess, isClean: boolean): void {
    process.release()
    if (isClean && !process.isKilled && !this.#closed) this.#offer(process)
    else {
      process.kill('closed')
      void process.gone.then(() => this.#grow(1))
    }
  }

  /** Kills every child; resolves once all have exited. */
  async close(): Promise<void> {
    this.#closed = true
    this.#idle.length = 0
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new RUN_ERR_SANDBOX_CLOSED())
    for (const process of this.#all) process.kill('closed')
    await Promise.all([...this.#all].map(({ gone }) => gone))
  }

  #offer(process: SandboxProcess): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) this.#idle.push(process)
    else waiter.resolve(process)
  }

  // One child per waiting program, and at least `spare`, so that the next program finds a warm one.
  #grow(spare = 0): void {
    const wanted = Math.max(this.#waiters.length, spare)
    while (!this.#closed && this.#starting < wanted && this.#all.size < this.#bounds.processes)
      void this.#launch()
  }

  async #launch(): Promise<void> {
    this.#starting++
    const process = await this.#startReady()
    this.#starting--
    if (process !== undefined) return this.#offer(process)
    this.#waiters.shift()?.reject(new RUN_ERR_SANDBOX_FAILED('its process did not start'))
    this.#grow()
  }

  async #startReady(): Promise<SandboxProcess | undefined> {
    let process: SandboxProcess
    try {
      process = this.#start()
    } catch {
      // The system is out of processes, memory or file descriptors.
      return undefined
    }
    this.#all.add(process)
    void process.gone.then(() => this.#forget(process))
    const isReady = await isReadyInTime(process)
    process.release()
    return isReady ? process : undefined
  }

  #forget(process: SandboxProcess): void {
    this.#all.delete(process)
    const at = this.#idle.indexOf(process)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#grow()
  }
}

async function isReadyInTime(process: SandboxProcess): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => process.kill('timeout'), START_MS)
  process.listener = {
    onMessage: ({ type }) => (type === 'ready' ? resolve(true) : process.kill('protocol')),
    onGone: () => resolve(false)
  }
  const isReady = await promise
  clearTimeout(timer)
  return isReady && !process.isKilled
}
