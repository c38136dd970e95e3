import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Where a service keeps what it does, and how fast it does it. */
export interface ServiceOptions {
  /** Its database. */
  db: string
  ledger: string
  /** Milliseconds between two parts of a model's stream. */
  pace: number
}

/** A service with processes that may not answer. */
export interface Persistent {
  /** Does something with the address of a process, and again with another if it fails. */
  persist<T>(act: (url: string) => Promise<T>): Promise<T>
}

/** A service that is killed and started again; its address changes each time. */
export class Service implements Persistent {
  readonly #options: ServiceOptions
  readonly #changes = new EventEmitter().setMaxListeners(0)
  #child: ChildProcess | undefined
  #url: string | undefined
  /** The processes so far. */
  starts = 0

  constructor(options: ServiceOptions) {
    this.#options = options
  }

  /** Starts a process and waits until it listens. */
  async start(): Promise<void> {
    const { db, ledger, pace } = this.#options
    const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
    const child = spawn(process.execPath, [...flags, WORKER, `sqlite:${db}`, ledger, String(pace)], {
      stdio: ['pipe', 'pipe', 'inherit']
    })
    this.#child = child
    this.starts++
    const exited = once(child, 'exit').then(() => ['nothing'])
    const [line] = (await Promise.race([once(child.stdout, 'data'), exited])) as [Buffer | string]
    const url = String(line).trim()
    if (!url.startsWith('http')) throw new Error('the service ended before it listened')
    this.#url = url
    this.#changes.emit('up')
  }

  /** Kills the process, if there is one; resolves once it is gone. */
  async kill(): Promise<void> {
    this.#url = undefined
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  /** The address of the process, once there is one. */
  async url(): Promise<string> {
    while (this.#url === undefined) await once(this.#changes, 'up')
    return this.#url
  }

  /** Does something with the address, and again with the next process if this one is killed meanwhile. */
  async persist<T>(act: (url: string) => Promise<T>): Promise<T> {
    for (;;) {
      const url = await this.url()
      const { starts } = this
      try {
        return await act(url)
      } catch (err) {
        if (err instanceof Fatal) throw err
        // A connection may break a little before the process is known to be gone.
        if (this.#url === url && this.starts === starts)
          await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
}

/** An error that another process would not change. */
export class Fatal extends Error {}
