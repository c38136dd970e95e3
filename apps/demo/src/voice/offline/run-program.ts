import { execFile } from 'node:child_process'
import pLimit from 'p-limit'

/** One call of a program that reads stdin and writes to stdout. */
export interface ProgramCall {
  readonly path: string
  readonly args: readonly string[]
  /** What it reads from stdin; default: nothing. */
  readonly input?: string
  readonly signal: AbortSignal | undefined
}

/** Programs at once; further calls wait. */
const AT_ONCE = 4
/** Milliseconds for one call. */
const TIMEOUT = 20_000
/** Bytes of output: 12 minutes of speech. */
const MAX_OUTPUT = 32 * 1024 * 1024
const limit = pLimit(AT_ONCE)

/**
 * Runs a program without a shell and returns what it wrote to stdout. It is killed when the signal aborts, after 20 seconds, and when
 * its output is too large.
 * @throws an Error that names the program and what became of it; the reason of the signal once that has aborted
 */
export function runProgram(call: ProgramCall): Promise<Buffer> {
  return limit(() => {
    call.signal?.throwIfAborted()
    return execute(call)
  })
}

function execute({ path, args, input = '', signal }: ProgramCall): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      path,
      args,
      {
        encoding: 'buffer',
        maxBuffer: MAX_OUTPUT,
        timeout: TIMEOUT,
        killSignal: 'SIGKILL',
        ...(signal && { signal })
      },
      (err, stdout, stderr) => {
        if (err === null) return resolve(stdout)
        reject(signal?.aborted ? (signal.reason as Error) : new Error(explain(path, err, stderr)))
      }
    )
    // It may end before it has read everything.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

type Failure = Error & { code?: number | string | null; killed?: boolean }

function explain(path: string, { code, killed, message }: Failure, stderr: Buffer): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `${path} wrote more than ${MAX_OUTPUT} bytes`
  if (killed === true) return `${path} took longer than ${TIMEOUT} ms`
  if (typeof code !== 'number') return `${path} cannot be run: ${message}`
  const said = stderr.toString().trim().split('\n').at(-1)
  return `${path} ended with ${code}${said ? `: ${said.slice(0, 200)}` : ''}`
}
