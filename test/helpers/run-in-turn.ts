import { writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { globalRegistry } from '@svc/registry'

// Runs the programs of the arguments in one process, each as if it were alone: the next starts once nothing is left to do, which is
// when the process of the one before would end. Prints a line of JSON for each.

/** What a program printed, and the exit code that its process would have had. */
export interface ProgramEnd {
  file: string
  code: number
  stdout: string
  stderr: string
}

/** Node's code for a top-level await that never settles. */
const UNSETTLED = 13
const left = process.argv.slice(2)
let current: ProgramEnd | undefined

for (const name of ['stdout', 'stderr'] as const)
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    if (current !== undefined)
      current[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const done = rest.at(-1)
    if (typeof done === 'function') process.nextTick(done as () => void)
    return true
  }

function startNext() {
  const file = left.shift()
  if (file === undefined) return
  current = { file, code: UNSETTLED, stdout: '', stderr: '' }
  const ending = current
  process.chdir(dirname(file))
  import(pathToFileURL(file).href).then(
    () => (ending.code = 0),
    (err: unknown) => {
      ending.code = 1
      ending.stderr += String(err instanceof Error ? err.stack : err)
    }
  )
}

process.on('beforeExit', () => {
  if (current === undefined) return
  const code = current.code === 0 ? Number(process.exitCode ?? 0) : current.code
  writeSync(1, `${JSON.stringify({ ...current, code })}\n`)
  current = undefined
  process.exitCode = 0
  for (const { kind, name } of globalRegistry.list()) globalRegistry.remove(kind, name)
  // Node emits this event again only if its loop has run.
  setImmediate(startNext)
})
startNext()
