import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program of this folder, in a process of its own, that reports by messages. */
export class NodeProcess {
  readonly #child: ChildProcess
  readonly #received: unknown[] = []
  #waiting: ((message: unknown) => void) | undefined

  /** @param program beside this file */
  constructor(program: string, ...args: string[]) {
    const script = fileURLToPath(new URL(program, import.meta.url))
    this.#child = fork(script, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', (message) => {
      if (this.#waiting === undefined) this.#received.push(message)
      else this.#waiting(message)
    })
  }

  send(message: object): void {
    this.#child.send(message)
  }

  /** The next message. @throws if the process ends before */
  async next<T>(): Promise<T> {
    if (this.#received.length > 0) return this.#received.shift() as T
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const ended = () => reject(new Error('a process of the bench ended before it reported'))
    this.#child.once('exit', ended)
    this.#waiting = resolve
    try {
      return (await promise) as T
    } finally {
      this.#waiting = undefined
      this.#child.off('exit', ended)
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}
