const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' '
  )
const TENS = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

/** A text as the words that are spoken, without marks. */
export function toSpokenWords(text: string): string {
  return text
    .toLowerCase()
    .replace(
      /(?<=\d)\.(\d+)/g,
      (_, digits: string) =>
        ` point ${digits
          .split('')
          .map((digit) => SMALL[Number(digit)])
          .join(' ')}`
    )
    .replace(/\d+/g, (digits) => sayNumber(Number(digits)))
    .replace(/[^a-z' ]/g, ' ')
    .replace(/ +/g, ' ')
    .trim()
}

function sayNumber(value: number): string {
  if (value < 20) return SMALL[value]!
  const [rest, name] =
    value < 100
      ? [value % 10, TENS[Math.floor(value / 10)]!]
      : [value % 100, `${SMALL[Math.floor(value / 100)]} hundred`]
  return rest === 0 ? name : `${name} ${sayNumber(rest)}`
}
