import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Target } from './balancer.ts'

/** A process of the service; another takes its place when it ends. */
export interface Node extends Target {
  /** Counted from 1. */
  readonly number: number
  readonly pid: number | undefined
}

interface Running extends Node {
  isReady: boolean
  pid: number | undefined
  process: ChildProcess | undefined
  hasListened: boolean
}

const PROGRAM = fileURLToPath(new URL('node.ts', import.meta.url))
/** Milliseconds between two looks at whether a node takes requests. */
const LOOK = 500
/** Milliseconds until another process takes the place of one that ended: time to see what the others do. */
const RESTART_AFTER = 15_000

/** The nodes of the demo's cluster. */
export class Nodes {
  readonly #nodes: Running[]
  readonly #env: NodeJS.ProcessEnv
  readonly #report: (line: string) => void
  readonly #looking: NodeJS.Timeout
  readonly #restarts = new Set<NodeJS.Timeout>()
  #isClosing = false

  /**
   * @param env of every node, besides its port
   * @param report receives a line when a node ends or starts again
   */
  constructor(ports: readonly number[], env: NodeJS.ProcessEnv, report: (line: string) => void) {
    this.#env = env
    this.#report = report
    this.#nodes = ports.map((port, index) => {
      return {
        number: index + 1,
        port,
        isReady: false,
        pid: undefined,
        process: undefined,
        hasListened: false
      }
    })
    this.#looking = setInterval(() => void this.#look(), LOOK)
  }

  get all(): readonly Node[] {
    return this.#nodes
  }

  /** Starts every node. @throws an Error with the reason of the first that cannot start */
  async start(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#start(node)))
  }

  /** Ends every node; each hands over or ends its runs. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#looking)
    for (const timer of this.#restarts) clearTimeout(timer)
    await Promise.all(
      this.#nodes.map(async ({ process: child }) => {
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
        const exited = once(child, 'exit')
        child.kill('SIGTERM')
        await exited
      })
    )
  }

  async #start(node: Running): Promise<void> {
    const env = { ...this.#env, PORT: String(node.port) }
    const child = fork(PROGRAM, { env, execArgv: process.execArgv })
    node.process = child
    node.pid = child.pid
    node.hasListened = false
    child.once('exit', (code, signal) => this.#ended(node, signal ?? `code ${code}`))
    const [said] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
      { listening?: true; fault?: string } | number | null
    ]
    const isListening = typeof said === 'object' && said?.listening === true
    if (isListening) node.hasListened = node.isReady = true
    else
      throw new Error((typeof said === 'object' && said?.fault) || `node ${node.number} ended at its start`)
  }

  #ended(node: Running, how: string): void {
    node.isReady = false
    node.process = undefined
    if (this.#isClosing || !node.hasListened) return
    this.#report(
      `node ${node.number} (pid ${node.pid}) ended: ${how}; another starts in ${RESTART_AFTER / 1000} s`
    )
    const timer = setTimeout(() => {
      this.#restarts.delete(timer)
      this.#start(node).then(
        () => this.#report(`node ${node.number} is back as pid ${node.pid}`),
        (err: Error) => this.#report(`node ${node.number} cannot start: ${err.message}`)
      )
    }, RESTART_AFTER)
    this.#restarts.add(timer)
  }

  // A node that drains, or has no contact with its database, says so.
  async #look(): Promise<void> {
    await Promise.all(
      this.#nodes.map(async (node) => {
        const asked = node.process
        if (asked === undefined) return
        const url = `http://127.0.0.1:${node.port}/api/readyz`
        const isReady = await fetch(url, { signal: AbortSignal.timeout(2 * LOOK) }).then(
          ({ ok, body }) => body?.cancel().then(() => ok) ?? ok,
          () => false
        )
        if (node.process === asked) node.isReady = isReady
      })
    )
  }
}
