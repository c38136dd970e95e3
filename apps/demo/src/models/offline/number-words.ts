const UNITS: Readonly<Record<string, number>> = {
  zero: 0,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90
}
const SCALES: Readonly<Record<string, number>> = { hundred: 100, thousand: 1e3, million: 1e6, billion: 1e9 }
const WORD = [...Object.keys(UNITS), ...Object.keys(SCALES)].join('|')
const RUN = new RegExp(`\\b(?:${WORD})(?:(?:\\s+and\\s+|\\s*-\\s*|\\s+)(?:${WORD}))*\\b`, 'gi')

/** Writes the numbers of a text in digits: "twenty-one plus two hundred and five" is "21 plus 205". */
export function digitsForWords(text: string): string {
  return text.replace(RUN, (run) => numbersOf(run.toLowerCase()))
}

function numbersOf(run: string): string {
  const words = run.split(/[\s-]+/)
  let total = 0
  let group = 0
  let last = 0
  for (const word of words) {
    if (word === 'and') {
      // "two and three" are two numbers, "two hundred and three" is one.
      if (last < 100) return run.replace(/\w+/g, (each) => String(UNITS[each] ?? SCALES[each] ?? each))
      continue
    }
    const scale = SCALES[word]
    if (scale === undefined) {
      const unit = UNITS[word]!
      if (last > 0 && last < 20)
        return run.replace(/\w+/g, (each) => String(UNITS[each] ?? SCALES[each] ?? each))
      group += unit
      last = unit
    } else {
      group = Math.max(1, group) * scale
      if (scale >= 1000) {
        total += group
        group = 0
      }
      last = scale
    }
  }
  return String(total + group)
}
