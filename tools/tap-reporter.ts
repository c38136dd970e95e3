import { relative } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
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
export const describeFailure = (diag: Record<string, unknown> | null): string[] => {
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

/** A tap reporter: one line per file, details of what failed, and at the end `N passed, N failed`. */
export default class TapReporter extends Transform {
  readonly #total: Tally = { passed: 0, failed: 0, skipped: 0 }
  readonly #parser = new Parser()
  #noise: string[] = []

  constructor() {
    super()
    this.#watch(this.#parser, [], this.#total)
    this.#parser.on('bailout', (reason: string) => this.#fail([], `bail out: ${reason}`, null, [this.#total]))
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
    this.#parser.write(chunk)
    done()
  }

  override _flush(done: TransformCallback) {
    this.#parser.end()
    const { passed, failed, skipped } = this.#total
    if (passed + failed + skipped === 0) this.#fail([], 'no test ran', null, [this.#total])
    else if (failed === 0 && this.#parser.results?.ok !== true) {
      this.#fail([], 'the run did not end as planned', null, [this.#total])
    }
    this.#line(describeTally(this.#total))
    done()
  }

  #line(text: string) {
    this.push(`${text}\n`)
  }

  #watch(parser: Parser, path: string[], ...tallies: Tally[]) {
    let child: Tally = { passed: 0, failed: 0, skipped: 0 }
    parser.on('child', (nested: Parser) => {
      child = { passed: 0, failed: 0, skipped: 0 }
      this.#watch(nested, [...path, nested.name], child, ...tallies)
    })
    parser.on('extra', (text: string) => this.#noise.push(...indent(text.trim(), '    | ')))
    parser.on('assert', (result: Result) => {
      const isGroup = result.closingTestPoint
      if (
        !isGroup ||
        child.passed + child.failed + child.skipped === 0 ||
        (!result.ok && child.failed === 0)
      ) {
        this.#count(result, path, isGroup ? [child, ...tallies] : tallies)
      }
      if (path.length === 0) this.#endFile(result, isGroup ? child : null)
    })
  }

  #count(result: Result, path: string[], tallies: Tally[]) {
    if (result.skip !== false || result.todo !== false) for (const tally of tallies) tally.skipped += 1
    else if (result.ok) for (const tally of tallies) tally.passed += 1
    else this.#fail(path, result.name, result.diag, tallies)
  }

  #fail(path: string[], name: string, diag: Record<string, unknown> | null, tallies: Tally[]) {
    for (const tally of tallies) tally.failed += 1
    this.#line(`not ok ${[...path, name].join(' > ')}`)
    for (const line of describeFailure(diag)) this.#line(`    ${line}`)
  }

  #endFile(result: Result, tally: Tally | null) {
    if (tally !== null) {
      if (!result.ok) for (const line of this.#noise.slice(-maxNoiseLines)) this.#line(line)
      const word = result.ok ? 'ok    ' : 'FAILED'
      this.#line(`${word} ${result.name}  ${describeTally(tally)} (${Math.round(result.time ?? 0)} ms)`)
    }
    this.#noise = []
  }
}
