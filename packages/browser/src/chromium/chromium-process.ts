import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ConnectOverCDPTransport } from 'playwright-core'
import { RUN_ERR_BROWSER_FAILED } from '../errors.ts'

/** CDP over the pipes of `--remote-debugging-pipe`: JSON texts that end with a zero byte. */
class PipeTransport implements ConnectOverCDPTransport {
  onmessage?: (message: object) => unknown
  onclose?: (reason?: string) => void
  readonly #input: Socket
  readonly #onCloseAsked: () => void
  readonly #output: Socket
  #rest: Buffer[] = []
  #restBytes = 0
  #isEnded = false
  #isBroken = false

  /** `onCloseAsked` is called when the client closes the connection. */
  constructor(input: Socket, output: Socket, onCloseAsked: () => void) {
    this.#input = input
    this.#output = output
    this.#onCloseAsked = onCloseAsked
    output.on('data', (chunk: Buffer) => this.#read(chunk))
    // A broken pipe is followed by the exit of the process, which is what counts.
    for (const stream of [input, output]) stream.on('error', () => undefined)
  }

  send(message: object): void {
    if (!this.#isEnded) this.#input.write(`${JSON.stringify(message)}\0`)
  }

  close(): void {
    this.#onCloseAsked()
  }

  /** The process has ended. */
  end(): void {
    this.#isEnded = true
    this.#drop()
    this.onclose?.()
  }

  #read(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0 && !this.#isBroken; end = chunk.indexOf(0, start)) {
      const text = Buffer.concat([...this.#rest, chunk.subarray(start, end)]).toString()
      this.#drop()
      start = end + 1
      this.#deliver(text)
    }
    if (this.#isBroken || start === chunk.length) return
    this.#rest.push(chunk.subarray(start))
    this.#restBytes += chunk.length - start
    if (this.#restBytes > MAX_MESSAGE) this.#break()
  }

  #drop(): void {
    this.#rest = []
    this.#restBytes = 0
  }

  #deliver(text: string): void {
    const message = parse(text)
    if (message === undefined) return this.#break()
    // Each in a turn of its own, so that code that awaits one runs before the next.
    setImmediate(() => void this.#hand(message))
  }

  async #hand(message: object): Promise<void> {
    if (this.#isEnded || this.#isBroken) return
    try {
      await this.onmessage?.(message)
    } catch {
      // Playwright rejects answers that Chromium does not give; unhandled, that would end this process.
      this.#break()
    }
  }

  // A program that says anything else is no Chromium, and may never stop.
  #break(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#drop()
    this.#output.destroy()
    this.close()
  }
}

// Bytes of one message; those with images have some millions.
const MAX_MESSAGE = 256_000_000

/** A message of CDP; undefined for anything else. */
function parse(text: string): object | undefined {
  try {
    const message: unknown = JSON.parse(text)
    const isMessage =
      typeof message === 'object' && message !== null && ('id' in message || 'method' in message)
    return isMessage ? message : undefined
  } catch {
    return undefined
  }
}

/**
 * A Chromium that this process started. It is controlled by two pipes, and ends when they close: also if this process is killed.
 * Its profile, caches and downloads are in one temporary folder, which is removed when it ends.
 */
export class ChromiumProcess {
  readonly transport: PipeTransport
  /** Resolves once the process has ended and its files are removed. */
  readonly gone: Promise<void>
  readonly folder: string
  readonly #child: ChildProcess
  readonly #streams: readonly Socket[]
  readonly #ended = new AbortController()
  #isGone = false

  /** @throws RUN_ERR_BROWSER_FAILED without a temporary folder, and the system's error if the program cannot be started */
  static async start(path: string, args: readonly string[]): Promise<ChromiumProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-browser-')).catch((cause: unknown) => {
      throw new RUN_ERR_BROWSER_FAILED('its temporary folder cannot be created', { cause })
    })
    const child = spawn(path, [...args, `--user-data-dir=${join(folder, 'profile')}`], {
      env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', HOME: folder, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      // A group of its own, so that its children can be killed with it.
      detached: true
    })
    try {
      await once(child, 'spawn')
    } catch (err) {
      await removeFolder(folder)
      throw err
    }
    return new ChromiumProcess(child, folder)
  }

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.folder = folder
    this.#streams = child.stdio.slice(3) as Socket[]
    const [input, output] = this.#streams as [Socket, Socket]
    this.transport = new PipeTransport(input, output, () => this.kill())
    process.on('exit', this.#onExit)
    this.gone = once(child, 'exit').then(() => this.#clean())
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Aborts when the process has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Whether this process stays alive for the sake of the browser. */
  keepAlive(isNeeded: boolean): void {
    for (const handle of [this.#child, ...this.#streams]) {
      if (isNeeded) handle.ref()
      else handle.unref()
    }
  }

  /** Ends it at once. Its files are temporary, so that nothing is left to be saved. */
  kill(): void {
    if (!this.#isGone) this.#signal('SIGKILL')
  }

  readonly #onExit = () => {
    this.kill()
    rmSync(this.folder, REMOVAL)
  }

  async #clean(): Promise<void> {
    this.#ended.abort()
    this.transport.end()
    await this.#untilAlone()
    this.#isGone = true
    process.off('exit', this.#onExit)
    await removeFolder(this.folder)
  }

  // Its children outlive it by moments.
  async #untilAlone(): Promise<void> {
    for (let waited = 0; waited < LAST_CHILD; waited += 10) {
      if (!this.#signal('SIGKILL') || !(await hasLiving(this.pid))) return
      await pause(10)
    }
  }

  // To its whole group; false if nothing is left of it.
  #signal(signal: NodeJS.Signals): boolean {
    try {
      if (process.platform === 'win32') return this.#child.kill(signal)
      return process.kill(-this.pid, signal)
    } catch {
      return false
    }
  }
}

// Milliseconds.
const LAST_CHILD = 1_000
const REMOVAL = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, REMOVAL).catch(() => undefined)
}

/**
 * True if a process of a group lives. Zombies do not: they stay for good where no process reaps orphans, e.g. in a container without an
 * init. A system without `/proc` does not show them; there the answer is always true.
 */
async function hasLiving(group: number): Promise<boolean> {
  const names = await readdir('/proc').catch(() => undefined)
  if (names === undefined) return true
  const members = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((pid) => readMember(pid)))
  return members.some((member) => member?.group === group && member.state !== 'Z')
}

// Undefined if it has ended meanwhile.
async function readMember(pid: string): Promise<{ state: string; group: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name of the program, in parentheses, may contain anything.
  const [state, , group] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  return state === undefined ? undefined : { state, group: Number(group) }
}
