const SMALL =
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
  seventeen eighteen nineteen`.split(/\s+/)
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const SCALES: Readonly<Record<string, number>> = { thousand: 1e3, million: 1e6, billion: 1e9 }
const BELOW_100 = `(?:(?:${TENS.join('|')})(?:[ -](?:${SMALL.slice(1, 10).join('|')}))?|${SMALL.join('|')})`
const NUMBER = new RegExp(
  String.raw`\b${BELOW_100}(?: (?:hundred|${Object.keys(SCALES).join('|')})\b(?:(?: and)? ${BELOW_100})?)*\b`,
  'gi'
)

/** Replaces number words with digits: "twenty-one plus two hundred and five" becomes "21 plus 205". */
export function digitsForWords(text: string): string {
  return text.replace(/\b(?:a|one) dozen\b/gi, '12').replace(NUMBER, (words) => String(valueOf(words)))
}

function valueOf(words: string): number {
  let total = 0
  let group = 0
  for (const word of words.toLowerCase().split(/ and |[ -]/)) {
    if (word === 'hundred') group *= 100
    else if (word in SCALES) {
      total += group * SCALES[word]!
      group = 0
    } else group += SMALL.includes(word) ? SMALL.indexOf(word) : 20 + TENS.indexOf(word) * 10
  }
  return total + group
}
