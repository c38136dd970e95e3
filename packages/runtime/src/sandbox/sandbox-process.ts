import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { Type, type Static } from '@sinclair/typebox'
import { checkOf } from '@svc/contract'
import type { ChildCommand } from './child-command.ts'
import { encodeFrame, FrameReader } from './frames.ts'
import type { SandboxLimits } from './sandbox.ts'

/** Messages to the child: a program to run, or the answer to a call. `input` and `json` are JSON texts. */
export type ToChild =
  | {
      readonly type: 'run'
      readonly code: string
      readonly input: string
      readonly tools: readonly string[]
      readonly limits: SandboxLimits
    }
  | { readonly type: 'answer'; readonly id: number; readonly ok: boolean; readonly json: string }

const ProgramFaultSchema = Type.Union([
  Type.Literal('failed'),
  Type.Literal('timeout'),
  Type.Literal('memory'),
  Type.Literal('no-json'),
  Type.Literal('too-large')
])
/** Why a program has no result. */
export type ProgramFault = Static<typeof ProgramFaultSchema>

/**
 * Messages from the child: it is ready, its program waits for calls (`calls` may be empty while earlier ones are pending), or
 * the program is done. Anything else is a protocol error.
 */
const FromChildSchema = Type.Union([
  Type.Object({ type: Type.Literal('ready') }),
  Type.Object({
    type: Type.Literal('waiting'),
    calls: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), args: Type.Unknown() }))
  }),
  Type.Object({
    type: Type.Literal('done'),
    result: Type.Optional(Type.Unknown()),
    fault: Type.Optional(ProgramFaultSchema),
    message: Type.Optional(Type.String()),
    console: Type.String(),
    clean: Type.Boolean({ description: 'True if the child claims to be reusable' }),
    cpu: Type.Number({ description: 'CPU milliseconds of its lifetime' }),
    rss: Type.Number({ description: 'Bytes' })
  })
])
export type FromChild = Static<typeof FromChildSchema>
/** How a program ended, according to the child. */
export type DoneMessage = Extract<FromChild, { type: 'done' }>

/** The longest message of an uncompromised child, in bytes: JSON may escape a byte as six characters. */
export function maxFrameBytes(
  { maxOutputBytes, maxConsoleBytes, maxToolCalls }: SandboxLimits,
  tools: readonly string[]
): number {
  const longestName = Math.max(0, ...tools.map((name) => name.length))
  return maxOutputBytes + 6 * maxConsoleBytes + (64 + 6 * longestName) * maxToolCalls + 16_384
}

const INTERVAL_MS = 20
const PAGE = 4_096

/** True if process memory can be watched here; needs /proc. */
export const CAN_WATCH = process.platform === 'linux'

/** Calls `onExceeded` if a process and its descendants hold more than `maxRss` bytes. Returns a function that stops the watch. */
export function watchMemory(pid: number, maxRss: number, onExceeded: () => void): () => void {
  if (!CAN_WATCH) return () => {}
  let reading = false
  let stopped = false
  const look = async () => {
    if (reading) return
    reading = true
    const rss = await readRss(pid)
    reading = false
    if (rss > maxRss && !stopped) onExceeded()
  }
  const timer = setInterval(() => void look(), INTERVAL_MS)
  return () => {
    stopped = true
    clearInterval(timer)
  }
}

// Includes children: under bubblewrap the process inside is the one that counts.
async function readRss(pid: number): Promise<number> {
  try {
    const [statm, children] = await Promise.all([
      readFile(`/proc/${pid}/statm`, 'utf8'),
      readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
    ])
    const below = children
      .split(' ')
      .filter(Boolean)
      .map((child) => readRss(Number(child)))
    const own = Number(statm.split(' ')[1]) * PAGE
    return own + (await Promise.all(below)).reduce((sum, rss) => sum + rss, 0)
  } catch {
    // The process has exited.
    return 0
  }
}

/** Receives a child's messages, and its exit with the reason if it was killed. */
export interface ProcessListener {
  onMessage(message: FromChild): void
  onGone(reason: KillReason | undefined): void
}

/** Why a child was killed; `gone`: it exited by itself. */
export type KillReason = 'memory' | 'timeout' | 'protocol' | 'closed' | 'gone'

const IDLE_FRAME_BYTES = 1_024
// Lower priority than the serving process.
const NICE = 5
const isFromChild = checkOf(FromChildSchema)

/** One child process. Keeps this process alive only while in use, and dies with it. */
export class SandboxProcess {
  /** Number of programs that it has run. */
  runs = 0
  listener: ProcessListener | undefined
  /** Resolves when the process has exited. */
  readonly gone: Promise<void>
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #reader = new FrameReader(IDLE_FRAME_BYTES)
  #killedFor: KillReason | undefined
  #stopWatch: (() => void) | undefined

  constructor({ file, args }: ChildCommand, bubblewrap: boolean) {
    // Bubblewrap is found on the path, and clears the environment itself.
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
    this.#lowerPriority()
    this.#child.stdin.on('error', () => this.kill('protocol'))
    this.#child.stdout.on('error', () => this.kill('protocol'))
    this.#child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  /** True once it was killed or has exited. */
  get isKilled(): boolean {
    return this.#killedFor !== undefined
  }

  /** Starts serving a program, with limits of its messages and of the child's memory. */
  use(listener: ProcessListener, frameBytes: number, maxRss: number): void {
    this.listener = listener
    this.#reader.maxBytes = frameBytes
    this.#ref('ref')
    const { pid } = this.#child
    if (pid !== undefined) this.#stopWatch = watchMemory(pid, maxRss, () => this.kill('memory'))
  }

  /** Ends serving a program. */
  release(): void {
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

  #lowerPriority(): void {
    try {
      setPriority(this.#child.pid!, NICE)
    } catch {
      // It did not start, or has exited.
    }
  }

  #read(chunk: Buffer): void {
    if (this.isKilled) return
    try {
      for (const json of this.#reader.read(chunk)) {
        if (this.listener === undefined) throw new TypeError('unsolicited message')
        const message: unknown = JSON.parse(json)
        if (!isFromChild(message)) throw new TypeError('invalid message')
        this.listener.onMessage(message)
      }
    } catch {
      this.kill('protocol')
    }
  }

  #ref(how: 'ref' | 'unref'): void {
    this.#child[how]()
    // Sockets at run time, though typed as streams.
    for (const stream of [this.#child.stdin, this.#child.stdout])
      (stream as unknown as Record<'ref' | 'unref', () => void>)[how]()
  }
}
