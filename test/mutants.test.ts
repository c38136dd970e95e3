import t from 'tap'
import { findMutants } from '../tools/mutation/mutants.ts'

const mutate = (source: string) =>
  findMutants('a.ts', source).map(({ start, end, text }) => source.slice(0, start) + text + source.slice(end))

t.test('every mutation is found once', async (t) => {
  t.strictSame(mutate('if (a > b) c()'), ['if (!(a > b)) c()', 'if (a >= b) c()', 'if (a > b) ;'])
  t.strictSame(mutate('const x = a ?? b'), ['const x = a'])
  t.strictSame(mutate('const x = a && !b'), ['const x = a || !b'])
  t.strictSame(mutate('const x = a ? 1 : true'), [
    'const x = !(a) ? 1 : true',
    'const x = a ? 2 : true',
    'const x = a ? 1 : false'
  ])
  t.strictSame(mutate('this.x = y'), [';'])
})

t.test('texts, types and imports are not mutated', async (t) => {
  const source = "import a from 'a'\ntype T = 1 | true\nconst x: T = `a${'b' + 'c'}` + 'd'\n'use strict'"
  t.strictSame(mutate(source), [])
  t.throws(() => findMutants('a.ts', 'const'), /a\.ts/)
})
