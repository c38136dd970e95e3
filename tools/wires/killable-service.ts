import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A service on one database file, whose processes follow each other at one address. */
export class KillableService {
  readonly #program: string
  readonly #database: string
  #child: ChildProcess | undefined
  #port = '0'

  /** @param program a file that calls `serveUntilKilled` */
  constructor(t: Test, program: URL) {
    this.#program = program.pathname
    this.#database = `sqlite:${join(t.testdir(), 'app.db')}`
    t.teardown(() => this.kill())
  }

  async start(): Promise<void> {
    // Without the loaders of tap: Node.js runs the program as it is.
    const { NODE_OPTIONS: _, ...env } = process.env
    const args = ['--conditions=@svc/source', this.#program, this.#database, this.#port]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    this.#child = child
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    this.#port = String(line).trim()
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`
  }
}
