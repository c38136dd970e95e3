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
// "Two hundred and five" is one number, "two and five" are two.
const LINK = String.raw`(?:(?<=\b(?:${Object.keys(SCALES).join('|')}))\s+and\s+|\s*-\s*|\s+)`
const RUN = new RegExp(`\\b(?:${WORD})(?:${LINK}(?:${WORD}))*\\b`, 'gi')

/** Writes the numbers of a text in digits: "twenty-one plus two hundred and five" is "21 plus 205". */
export function digitsForWords(text: string): string {
  return text
    .replace(/\b(?:a|one) dozen\b/gi, '12')
    .replace(RUN, (run) => numbersOf(run.toLowerCase().split(/(?:\s+and)?[\s-]+/)).join(' '))
}

// A word that cannot go on with the number before begins the next one: "one two" is 1 and 2.
function numbersOf(words: readonly string[]): number[] {
  const numbers: number[] = []
  let total = 0
  let group = 0
  let least = Infinity
  for (const word of words) {
    const unit = UNITS[word]
    const scale = SCALES[word] ?? 1
    if (unit === undefined) {
      group = Math.max(1, group) * scale
      least = scale
      if (scale < 1000) continue
      total += group
      group = 0
      continue
    }
    if (unit >= least || (least < 20 && least > 0)) {
      numbers.push(total + group)
      total = 0
      group = 0
    }
    group += unit
    least = unit
  }
  return [...numbers, total + group]
}
