/**
 * Whether a word that was found alike is the same one, begun or mistyped, and not merely another: "cancl" is "cancel",
 * "bread" is not "break".
 */
export function isSlipOf(word: string, known: string): boolean {
  if (known.startsWith(word)) return true
  if (word.length === known.length && isSwapped(word, known)) return true
  if (word[0] !== known[0] || word.length < 5) return false
  return word.length !== known.length || word.length > 6
}

function isSwapped(word: string, known: string): boolean {
  const at = word.split('').findIndex((letter, index) => letter !== known[index])
  return (
    at >= 0 &&
    word[at] === known[at + 1] &&
    word[at + 1] === known[at] &&
    word.slice(at + 2) === known.slice(at + 2)
  )
}
