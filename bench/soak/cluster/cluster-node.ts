import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startProxy, type Proxy } from '@tools/postgres'
import type { NodeOptions } from './node-options.ts'
import type { Timeline } from './timeline.ts'

/** How a node is started. */
export interface ClusterNodeOptions extends Omit<NodeOptions, 'url' | 'writer'> {
  /** The database, without the node's network. */
  readonly database: string
  /** Milliseconds by which its clock is fast. */
  readonly clockShift: number
  readonly timeline: Timeline
  /** When its processes were stopped. */
  readonly stops: Timeline
}

const PROGRAM = fileURLToPath(new URL('node.ts', import.meta.url))
const STARTS_WITHIN = 120_000

/** A node of a cluster: a process that is started again after it ended, behind a network of its own. */
export class ClusterNode {
  readonly name: string
  readonly #options: ClusterNodeOptions
  #network: Proxy | undefined
  #child: ChildProcess | undefined
  #exited: Promise<unknown> | undefined
  #life = 0
  #isEnding = false
  #isStopped = false
  #isCut = false
  #url: string | undefined
  /** How processes ended that nothing had ended. */
  readonly crashes: string[] = []

  constructor(name: string, options: ClusterNodeOptions) {
    this.name = name
    this.#options = options
  }

  /** The name of the process, which its connections and effects have. */
  get writer(): string {
    return `${this.name}.${this.#life}`
  }

  /** The address of the process, as long as it runs; it may not answer. */
  get url(): string | undefined {
    return this.#url
  }

  /** True if it listens, and its network works. */
  get works(): boolean {
    return this.#url !== undefined && !this.#isStopped && !this.#isCut
  }

  /** True if it was stopped and not continued. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Its network to the database. */
  get network(): Proxy {
    return this.#network!
  }

  /** Starts a process; resolves once it listens. @throws if it ends before */
  async start(): Promise<void> {
    const { database, clockShift, timeline, stops: _, ...options } = this.#options
    this.#network ??= await startProxy(database)
    this.#life++
    this.#isEnding = false
    const url = new URL(this.#network.url)
    url.searchParams.set('application_name', this.writer)
    const settings: NodeOptions = { ...options, url: url.href, writer: this.writer }
    const { NODE_OPTIONS: _hooks, ...env } = process.env
    const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
    const child = spawn(process.execPath, [...flags, PROGRAM, JSON.stringify(settings)], {
      env: { ...env, CLOCK_SHIFT: String(clockShift) },
      stdio: ['pipe', 'pipe', 'pipe']
    })
    this.#child = child
    child.stdin.on('error', () => {})
    const said: string[] = []
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
    this.#exited = once(child, 'exit').then(([code, signal]) => {
      this.#url = undefined
      timeline.record(settings.writer, false)
      if (!this.#isEnding) this.crashes.push(`${signal ?? code}: ${said.slice(-20).join('\n')}`)
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), STARTS_WITHIN)
    const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>
    const [found] = await Promise.race([line, this.#exited.then(() => [''])])
    clearTimeout(timer)
    const port = /^port (\d+)$/.exec(found ?? '')?.[1]
    if (port === undefined) throw new Error(`node ${this.writer} ended at its start: ${said.join('\n')}`)
    this.#url = `http://127.0.0.1:${port}`
    this.#note()
  }

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Asks the process to end, and waits until it has. */
  async terminate(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Stops the process where it is, until `resume`. */
  pause(): void {
    this.#isStopped = true
    this.#options.stops.record(this.writer, false)
    this.#child?.kill('SIGSTOP')
    this.#note()
  }

  resume(): void {
    this.#isStopped = false
    this.#options.stops.record(this.writer, true)
    this.#child?.kill('SIGCONT')
    this.#note()
  }

  /** Breaks its network, or slows it, until `connect`. */
  disconnect(how: 'hold' | 'cut'): void {
    this.#isCut = true
    this.network[how]()
    this.#note()
  }

  connect(): void {
    this.#isCut = false
    this.network.pass()
    this.#note()
  }

  async close(): Promise<void> {
    await this.kill()
    await this.#network?.close()
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isEnding = true
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    if (signal === 'SIGKILL') this.#url = undefined
    this.#options.timeline.record(this.writer, false)
    child.kill(signal)
    await this.#exited
    this.#isStopped = false
  }

  #note(): void {
    this.#options.timeline.record(this.writer, this.works)
  }
}
