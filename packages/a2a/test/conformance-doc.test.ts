import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import t from 'tap'

const FILE = resolve(import.meta.dirname, '../../../docs/a2a-conformance.md')
const text = readFileSync(FILE, 'utf8')

/** What a row without a test begins with. */
const KINDS = ['Not applicable: ', 'Documented: ', 'Operation: ']

interface Row {
  /** The numbers of its first and its last statement, within the section. */
  first: number
  last: number
  section: string
  proof: string
}

interface Section {
  /** The heading of the table's part of the document. */
  part: string
  name: string
  /** The statements that the heading counts. */
  count: number
  rows: Row[]
}

/** The sections of a document, each with its rows. */
function readSections(document: string): Section[] {
  return document.split(/^## /m).flatMap((chapter) => {
    const [part = ''] = chapter.split('\n', 1)
    return chapter
      .split(/^### /m)
      .slice(1)
      .map((section) => {
        const [, name = '', count] = /^(\S+)\. .* \((\d+)\)$/m.exec(section) ?? []
        const rows = section.split('\n').filter((line) => /^\| [A-Z\d]/.test(line))
        return { part, name, count: Number(count), rows: rows.map(readRow) }
      })
  })
}

function readRow(line: string): Row {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
  const [, section = '', first, last = first] = /^(\S+)-(\d+)(?: to (\d+))?$/.exec(cells[1] ?? '') ?? []
  return { section, first: Number(first), last: Number(last), proof: cells[4] ?? '' }
}

const linksOf = (proof: string) =>
  [...proof.matchAll(/\[(.+?)\]\(([^()\s]+)\)/g)].map(([, name = '', target = '']) => ({ name, target }))
const isTest = (target: string) => target.endsWith('.test.ts')

/** What is wrong with a document. */
function faultsOf(document: string): string[] {
  const faults: string[] = []
  const seen = new Set<string>()
  for (const { part, name, count, rows } of readSections(document)) {
    const where = `${part}, ${name}`
    if (seen.has(where)) faults.push(`${where}: twice`)
    seen.add(where)
    let next = 1
    for (const { section, first, last, proof } of rows) {
      const row = `${where}-${first}`
      if (section !== name || first !== next || last < first) faults.push(`${row}: not the next number`)
      next = last + 1
      const links = linksOf(proof)
      if (!links.some(({ target }) => isTest(target)) && !KINDS.some((kind) => proof.startsWith(kind)))
        faults.push(`${row}: no proof`)
      if (/pending/i.test(proof)) faults.push(`${row}: pending`)
      for (const link of links) faults.push(...faultsOfLink(link).map((fault) => `${row}: ${fault}`))
    }
    if (next - 1 !== count) faults.push(`${where}: ${next - 1} statements, ${count} in the heading`)
  }
  return faults
}

const sources = new Map<string, string>()

function faultsOfLink({ name, target }: { name: string; target: string }): string[] {
  const [path = '', anchor] = target.split('#')
  const file = resolve(dirname(FILE), path)
  if (!existsSync(file)) return [`no file ${path}`]
  const source = sources.get(file) ?? readFileSync(file, 'utf8')
  sources.set(file, source)
  if (isTest(path)) {
    const isThere = ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`))
    return isThere ? [] : [`no test "${name}" in ${path}`]
  }
  const anchors = [...source.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => toAnchor(heading))
  return anchor === undefined || anchors.includes(anchor) ? [] : [`no heading #${anchor} in ${path}`]
}

function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

t.test('each statement has its number and a proof that exists', async (t) => {
  t.same(faultsOf(text), [])
})

t.test('the totals are those of the tables', async (t) => {
  const totals = new Map<string, [all: number, tests: number, others: number, not: number]>()
  for (const { part, rows } of readSections(text)) {
    const sums = totals.get(part) ?? [0, 0, 0, 0]
    totals.set(part, sums)
    for (const { first, last, proof } of rows) {
      const hasTest = linksOf(proof).some(({ target }) => isTest(target))
      const column = hasTest ? 1 : proof.startsWith(KINDS[0]!) ? 3 : 2
      sums[0] += last - first + 1
      sums[column] += last - first + 1
    }
  }
  const rows = [...text.matchAll(/^\| (\d[^|]*?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)]
  t.same(
    rows.map(([, , ...numbers]) => numbers.map(Number)),
    [...totals.values()]
  )
})

t.test('the check finds faults', async (t) => {
  const at = '../packages/a2a/test/conformance-doc.test.ts'
  const name = 'the check finds faults'
  const good = `## V\n\n### 1.2. Title (2)\n\n| | | rule | proof |\n|---|---|---|---|\n| 1.2-1 | must | It is | [${name}](${at}) |\n| 1.2-2 | | It is | Not applicable: no |\n`
  t.same(faultsOf(good), [])
  const planted: [from: string, to: string, fault: RegExp][] = [
    ['(2)', '(3)', /2 statements, 3 in the heading/],
    ['1.2-2', '1.2-3', /not the next number/],
    ['1.2-2', '1.2-1', /not the next number/],
    ['Not applicable: no', 'perhaps', /no proof/],
    ['Not applicable: no', 'Not applicable: pending', /pending/],
    [name, `${name}!`, /no test/],
    [at, at.replace('conformance-doc', 'nothing'), /no file/],
    ['Not applicable: no', 'Documented: [x](a2a.md#nothing)', /no heading/]
  ]
  for (const [from, to, fault] of planted) t.match(faultsOf(good.replace(from, to)).join('\n'), fault)
  t.match(faultsOf(good + good.replace('## V', '')).join('\n'), /twice/)
})
