import { isDeepStrictEqual } from 'node:util'
import { cases } from '@tools/wires/volume'
import { NameFinder } from '../src/names.ts'
import * as fc from 'fast-check'
import t from 'tap'

const find = (names: string[], text: string) => [...new NameFinder(names).find(text)]

const IN_WORD = /[\p{L}\p{N}\p{M}_]/u

/** Reference implementation: tries every name at every position. */
function findSlowly(names: readonly string[], text: string): string[] {
  const lower = text.toLowerCase()
  const found: string[] = []
  for (let at = 0; at < lower.length; at++) {
    let best = ''
    let named: string | undefined
    for (const name of names) {
      const word = name.toLowerCase()
      if (word.length <= best.length || !lower.startsWith(word, at)) continue
      const before = /.$/su.exec(lower.slice(Math.max(0, at - 2), at))?.[0] ?? ''
      const after = String.fromCodePoint(lower.codePointAt(at + word.length) ?? 0x20)
      if (!IN_WORD.test(before) && !IN_WORD.test(after)) [best, named] = [word, name]
    }
    if (named === undefined) continue
    found.push(named)
    at += best.length - 1
  }
  return found
}

t.test('finds names as whole words, case-insensitively, in the order of the text', async (t) => {
  const cases: [names: string[], text: string, found: string[]][] = [
    [['ada', 'bob'], 'Hey BOB, and ada', ['bob', 'ada']],
    [['ada', 'ada-two'], 'ada-two? ada!', ['ada-two', 'ada']],
    [['ada'], 'adamant nada a_da ada_ ada2 adá', []],
    [['ada'], '(ada) ada: ada', ['ada', 'ada', 'ada']],
    [['data base', 'base camp'], 'data base camp', ['data base']],
    [['a b c d', 'b', 'c'], 'a b c x', ['b', 'c']],
    [['a', 'a b c d', 'c'], 'a b c x', ['a', 'c']],
    [['助手', 'é', '𝒳', "o'neil"], "助手 é 𝒳 o’neil O'Neil", ['助手', 'é', '𝒳', "o'neil"]],
    [['é'], 'e\u0301 cafe\u0301', []],
    [['x'], '𝒳x x𝒳 \ud835x x', ['x', 'x']],
    [['Ada', 'ada'], 'ADA', ['Ada']],
    [['İ'], 'i\u0307 İ', ['İ', 'İ']],
    [['!', '!!', '@a'], 'a! !! x@a @a', ['!!', '@a']],
    [[''], 'anything', []],
    [['', 'ada', ''], 'ada', ['ada']],
    [[], 'ada', []],
    [['ada'], '', []],
    [['__proto__', 'constructor'], 'constructor __proto__', ['constructor', '__proto__']]
  ]
  for (const [names, text, found] of cases) {
    t.same(find(names, text), found, `${names.join(', ')} in ${text}`)
    if (!names.includes('')) t.same(findSlowly(names, text), found)
  }
})

t.test('it agrees with trying every name at every position', async (t) => {
  const unit = fc.constantFrom('a', 'b', 'A', '-', '_', ' ', '!', 'é', '\u0301', '𝒳', '\ud835')
  const word = fc.string({ unit, minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), fc.string({ unit, maxLength: 40 }), (names, text) => {
      return isDeepStrictEqual(find(names, text), findSlowly(names, text))
    }),
    { numRuns: cases(3_000) }
  )
  t.pass()
})

t.test('it terminates for any names and text', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary' }), { maxLength: 10 }),
      fc.string({ unit: 'binary' }),
      (names, text) => {
        return find(names, text).every((name) => names.includes(name))
      }
    )
  )
  t.pass()
})

t.test(
  'finding the first name takes a bounded number of steps per character, for any names and text',
  async (t) => {
    const long = (text: string) => text.repeat(Math.ceil(1_000_000 / text.length))
    const numbers = Array.from({ length: 500 }, (_, index) => index)
    const hostile: Record<string, [names: string[], text: string]> = {
      'the name again and again, within a word': [['aaa'], long('a')],
      'a name that nearly begins everywhere': [[`${'!'.repeat(127)}a`], long('!')],
      'a name that nearly ends everywhere': [[`a${'!'.repeat(127)}`], long('!')],
      'names that begin alike': [numbers.map((index) => `agent ${index}x`), long('agent ')],
      'names that end alike': [
        numbers.slice(1, 128).map((index) => `${'a'.repeat(index)}!`),
        long(`${'a'.repeat(130)}!`)
      ],
      'names within names': [
        numbers.slice(1, 129).map((index) => 'b!'.repeat(index).slice(0, 128)),
        long('b!')
      ]
    }
    for (const [what, [names, text]] of Object.entries(hostile)) {
      const finder = new NameFinder(names)
      const steps = countLookUps(() => finder.find(text).next())
      t.ok(steps > 0 && steps < 5 * text.length, `${what}: ${steps} steps for ${text.length} characters`)
    }
  }
)

/** Counts the map look-ups during a call. */
function countLookUps(work: () => unknown): number {
  const { get, has } = Map.prototype
  let count = 0
  Object.assign(Map.prototype, {
    get(this: Map<unknown, unknown>, key: unknown) {
      count++
      return get.call(this, key) as unknown
    },
    has(this: Map<unknown, unknown>, key: unknown) {
      count++
      return has.call(this, key)
    }
  })
  try {
    work()
  } finally {
    Object.assign(Map.prototype, { get, has })
  }
  return count
}
