const SMALL =
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
  seventeen eighteen nineteen`.split(/\s+/)
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const SCALES: Readonly<Record<string, number>> = { hundred: 100, thousand: 1e3, million: 1e6, billion: 1e9 }
const SCALE = Object.keys(SCALES).join('|')
const WORD = `(?:${[...SMALL, ...TENS].join('|')}|${SCALE})`
// "Two hundred and five" is one number, "two and five" are two.
const RUN = new RegExp(String.raw`\b${WORD}(?:(?:(?<=${SCALE}) and |[ -])${WORD})*\b`, 'gi')

/** Replaces number words with digits: "twenty-one plus two hundred and five" becomes "21 plus 205". */
export function digitsForWords(text: string): string {
  return text
    .replace(/\b(?:a|one) dozen\b/gi, '12')
    .replace(RUN, (run) => numbersOf(run.toLowerCase().split(/ and |[ -]/)).join(' '))
}

// A word that cannot continue a number begins the next one: "one two" is 1 and 2.
function numbersOf(words: readonly string[]): number[] {
  const numbers: number[] = []
  let total = 0
  let group = 0
  let last = Infinity
  for (const word of words) {
    const scale = SCALES[word]
    const value = scale ?? (SMALL.includes(word) ? SMALL.indexOf(word) : 20 + TENS.indexOf(word) * 10)
    if (scale !== undefined) {
      group = Math.max(1, group) * scale
      if (scale > 100) {
        total += group
        group = 0
      }
    } else {
      if (last < 20 || value >= last) {
        numbers.push(total + group)
        total = group = 0
      }
      group += value
    }
    last = value
  }
  return [...numbers, total + group]
}
