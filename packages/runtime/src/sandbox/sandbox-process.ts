import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { ChildCommand } from './child-command.ts'
import { encodeFrame, FrameReader } from './frames.ts'
import { watchMemory } from './memory-watch.ts'
import { FromChildSchema, type FromChild, type ToChild } from './messages.ts'

/** Hears what a child says, and that it is gone, with the reason it was killed for where it was. */
export interface ProcessListener {
  onMessage(message: FromChild): void
  onGone(reason: KillReason | undefined): void
}

/** Why a child is killed, or was found dead. */
export type KillReason = 'memory' | 'timeout' | 'protocol' | 'over' | 'gone'

const IDLE_FRAME_BYTES = 1_024
// Programs give way to the process that serves.
const NICE = 5
const isFromChild = TypeCompiler.Compile(FromChildSchema)

/** One child process. It keeps this process alive only while it is in use, and dies with it. */
export class SandboxProcess {
  /** Programs that it has run. */
  runs = 0
  listener: ProcessListener | undefined
  /** Settles when nothing of it is left. */
  readonly gone: Promise<void>
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #reader = new FrameReader(IDLE_FRAME_BYTES)
  #killedFor: KillReason | undefined
  #stopWatch: (() => void) | undefined

  constructor({ file, args }: ChildCommand, bubblewrap: boolean) {
    // Bubblewrap is looked for on the path, and empties the environment itself.
    const env = bubblewrap ? { PATH: process.env['PATH'] } : {}
    this.#child = spawn(file, args, { env, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.gone = promise
    const end = () => {
      this.#stopWatch?.()
      this.listener?.onGone(this.#killedFor)
      this.listener = undefined
      this.#killedFor ??= 'gone'
      resolve()
    }
    this.#child.once('close', end)
    this.#child.once('error', end)
    this.#giveWay()
    this.#child.stdin.on('error', () => this.kill('protocol'))
    this.#child.stdout.on('error', () => this.kill('protocol'))
    this.#child.stdout.on('data', (chunk: Buffer) => this.#hear(chunk))
  }

  /** Whether it is of no use any more. */
  get isKilled(): boolean {
    return this.#killedFor !== undefined
  }

  /** A program begins: what it may say, and how much memory the child may have. */
  use(listener: ProcessListener, maxFrameBytes: number, maxRss: number): void {
    this.listener = listener
    this.#reader.maxBytes = maxFrameBytes
    this.#ref('ref')
    const { pid } = this.#child
    if (pid !== undefined) this.#stopWatch = watchMemory(pid, maxRss, () => this.kill('memory'))
  }

  /** No program runs. */
  rest(): void {
    this.listener = undefined
    this.#reader.maxBytes = IDLE_FRAME_BYTES
    this.#stopWatch?.()
    this.#ref('unref')
  }

  send(message: ToChild): void {
    if (!this.isKilled) this.#child.stdin.write(encodeFrame(JSON.stringify(message)))
  }

  kill(reason: KillReason): void {
    if (this.isKilled) return
    this.#killedFor = reason
    this.#ref('ref')
    this.#child.kill('SIGKILL')
  }

  #giveWay(): void {
    try {
      setPriority(this.#child.pid!, NICE)
    } catch {
      // It did not start, or is gone.
    }
  }

  #hear(chunk: Buffer): void {
    if (this.isKilled) return
    try {
      for (const json of this.#reader.read(chunk)) {
        if (this.listener === undefined) throw new TypeError('nothing was asked')
        const message: unknown = JSON.parse(json)
        if (!isFromChild.Check(message)) throw new TypeError('no message')
        this.listener.onMessage(message)
      }
    } catch {
      this.kill('protocol')
    }
  }

  #ref(how: 'ref' | 'unref'): void {
    this.#child[how]()
    // They are sockets; the types tell only of streams.
    for (const stream of [this.#child.stdin, this.#child.stdout])
      (stream as unknown as Record<'ref' | 'unref', () => void>)[how]()
  }
}
