import type { Random } from '../../bench/soak/random.ts'

const TEXTS = [
  '',
  'Ann',
  'a "quote" \\ and\n\ttwo lines',
  'Größe 😀 日本語',
  '{"not": ["json"',
  '```',
  '\u0001',
  '/'
]

/** An object or a list of any shape that JSON has. */
export function randomObject(random: Random, depth = 4): object {
  const members = Array.from({ length: random.below(6) }, () => randomValue(random, depth))
  if (random.chance(0.3)) return members
  return Object.fromEntries(members.map((value, index) => [random.pick(TEXTS) + index, value]))
}

function randomValue(random: Random, depth: number): unknown {
  if (depth > 0 && random.chance(0.4)) return randomObject(random, depth - 1)
  if (random.chance(0.5)) return random.pick(TEXTS).repeat(random.below(4))
  return random.pick([true, false, null, 0, -1.5e-7, 12_345, 1e21])
}

/** The JSON of a value, as models write it: in one line or in several, with or without a code fence, some characters escaped. */
export function randomJson(random: Random, value: object): string {
  let json = JSON.stringify(value, null, random.pick([0, 2]))
  if (random.chance(0.3)) json = json.replace(/[\u0080-\uffff]/g, escapeUnit)
  return random.chance(0.2) ? `\n\`\`\`json\n${json}\n\`\`\`\n` : json
}

const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A text in pieces of up to `most` code units. */
export function split(random: Random, text: string, most: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const end = at + 1 + random.below(most)
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

/** True if a value may become another one while its JSON is written. */
export function growsInto(value: unknown, whole: unknown): boolean {
  if (typeof value === 'string') return typeof whole === 'string' && whole.startsWith(value)
  if (typeof value !== 'object' || value === null) return value === whole
  if (typeof whole !== 'object' || whole === null || Array.isArray(value) !== Array.isArray(whole))
    return false
  const keys = Object.keys(value)
  return keys.every(
    (key, index) =>
      key === Object.keys(whole)[index] &&
      // Only the last member is still written.
      (index === keys.length - 1 ? growsInto : isSame)(
        value[key as keyof typeof value],
        whole[key as keyof typeof whole]
      )
  )
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
