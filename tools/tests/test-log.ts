import { relative } from 'node:path'
import { Parser, type Result } from 'tap-parser'

const maxDiffLines = 60
const maxNoiseLines = 40
const quietFields = new Set([
  'args',
  'at',
  'command',
  'cwd',
  'diff',
  'externalID',
  'jobId',
  'source',
  'stack',
  'stdio',
  'tapCaught'
])

interface Tally {
  passed: number
  failed: number
  skipped: number
}

const indent = (text: string, by: string) => text.split('\n').map((line) => by + line)

const cut = (lines: string[], max: number) =>
  lines.length <= max ? lines : [...lines.slice(0, max), `… ${lines.length - max} more lines`]

const describeTally = ({ passed, failed, skipped }: Tally) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** What a failed test point's diagnostics say, without what only tap itself needs. */
function describeFailure(diag: Record<string, unknown> | null): string[] {
  if (diag === null) return []
  const lines: string[] = []
  const at = diag['at'] as { fileName?: string; lineNumber?: number; columnNumber?: number } | undefined
  if (at?.fileName !== undefined) {
    lines.push(`at ${relative('.', at.fileName)}:${at.lineNumber}:${at.columnNumber}`)
  }
  for (const [field, value] of Object.entries(diag)) {
    if (quietFields.has(field) || value === null || value === undefined) continue
    lines.push(
      ...cut(
        `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`.split('\n'),
        maxDiffLines
      )
    )
  }
  if (typeof diag['diff'] === 'string') lines.push(...cut(diag['diff'].trimEnd().split('\n'), maxDiffLines))
  else if (typeof diag['stack'] === 'string') lines.push(...diag['stack'].trimEnd().split('\n'))
  return lines
}

/** Prints the results of test files: one line per file, the details of each failure, and at the end `N passed, N failed`. */
export class TestLog {
  readonly #total: Tally = { passed: 0, failed: 0, skipped: 0 }
  readonly #times: { file: string; ms: number }[] = []
  readonly #failedFiles = new Map<string, Tally>()
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  /** Reads the TAP of one process, in which each file is a subtest. */
  createParser(): TapParser {
    const noise: string[] = []
    const parser = new Parser()
    this.#watch(parser, noise, [], this.#total)
    parser.on('bailout', (reason: string) => this.fail(`bail out: ${reason}`))
    const addNoise = (text: string) => void noise.push(...indent(text.trim(), '    | '))
    parser.on('extra', addNoise)
    return { parser, addNoise, printNoise: () => this.#printNoise(noise) }
  }

  /** Counts and prints the failure of a file that has no result. */
  failFile(file: string, reason: string) {
    this.fail(file, reason)
    this.#failedFiles.set(file, { passed: 0, failed: 1, skipped: 0 })
  }

  /** Counts and prints a failure that no test reported. */
  fail(name: string, reason?: string, output = '') {
    this.#fail([], name, reason === undefined ? null : { reason }, [this.#total])
    if (output !== '') for (const line of indent(output.trim(), '    ')) this.#print(line)
  }

  /** Counts and prints a success that no test reported. */
  pass(name: string, ms: number) {
    this.#total.passed += 1
    this.#print(`ok     ${name} (${Math.round(ms)} ms)`)
  }

  /** The files that failed. */
  get failedFiles(): string[] {
    return [...this.#failedFiles.keys()]
  }

  /** Takes back what failed files have counted, since they run again. */
  forgetFailedFiles() {
    for (const { passed, failed, skipped } of this.#failedFiles.values()) {
      this.#total.passed -= passed
      this.#total.failed -= failed
      this.#total.skipped -= skipped
    }
    this.#failedFiles.clear()
  }

  /** Prints a line that counts nothing. */
  note(line: string) {
    this.#print(line)
  }

  /** Prints the files that took longest, if there are more than `count`. */
  printSlowest(count: number) {
    if (this.#times.length <= count) return
    this.#print(`slowest of ${this.#times.length} files:`)
    for (const { file, ms } of this.#times.toSorted((a, b) => b.ms - a.ms).slice(0, count))
      this.#print(`${(ms / 1_000).toFixed(1).padStart(6)} s  ${file}`)
  }

  /** Prints the totals. True if something passed and nothing failed. */
  end(): boolean {
    const { passed, failed, skipped } = this.#total
    if (passed + failed + skipped === 0) this.fail('no test ran')
    this.#print(describeTally(this.#total))
    return this.#total.failed === 0
  }

  #watch(parser: Parser, noise: string[], path: string[], ...tallies: Tally[]) {
    let child: Tally = { passed: 0, failed: 0, skipped: 0 }
    parser.on('child', (nested: Parser) => {
      child = { passed: 0, failed: 0, skipped: 0 }
      this.#watch(nested, noise, [...path, nested.name], child, ...tallies)
    })
    parser.on('assert', (result: Result) => {
      const isGroup = result.closingTestPoint
      if (
        !isGroup ||
        child.passed + child.failed + child.skipped === 0 ||
        (!result.ok && child.failed === 0)
      ) {
        this.#count(result, path, isGroup ? [child, ...tallies] : tallies)
      }
      if (path.length === 0) this.#endFile(result, isGroup ? child : null, noise)
    })
  }

  #count(result: Result, path: string[], tallies: Tally[]) {
    if (result.skip !== false || result.todo !== false) for (const tally of tallies) tally.skipped += 1
    else if (result.ok) for (const tally of tallies) tally.passed += 1
    else this.#fail(path, result.name, result.diag, tallies)
  }

  #fail(path: string[], name: string, diag: Record<string, unknown> | null, tallies: Tally[]) {
    for (const tally of tallies) tally.failed += 1
    this.#print(`not ok ${[...path, name].join(' > ')}`)
    for (const line of describeFailure(diag)) this.#print(`    ${line}`)
  }

  #endFile(result: Result, tally: Tally | null, noise: string[]) {
    if (tally !== null) {
      this.#times.push({ file: result.name, ms: result.time ?? 0 })
      if (!result.ok) {
        this.#failedFiles.set(result.name, tally)
        this.#printNoise(noise)
      }
      const word = result.ok ? 'ok    ' : 'FAILED'
      this.#print(`${word} ${result.name}  ${describeTally(tally)} (${Math.round(result.time ?? 0)} ms)`)
    }
    noise.length = 0
  }

  #printNoise(noise: string[]) {
    for (const line of noise.slice(-maxNoiseLines)) this.#print(line)
    noise.length = 0
  }
}

/** What `createParser` of a `TestLog` returns. */
export interface TapParser {
  /** Takes the TAP, and has `results` once it ended. */
  parser: Parser
  /** Takes what a process printed beside its TAP; a failing file shows the last lines of it. */
  addNoise(text: string): void
  /** Prints what came since the last file ended. */
  printNoise(): void
}
