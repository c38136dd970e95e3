/** Finds all keys in a text by plain search, including overlapping ones. */
function spansOf(text: string, keys: readonly string[]): [start: number, end: number][] {
  const spans: [number, number][] = []
  for (const key of keys)
    for (let at = text.indexOf(key); at !== -1; at = text.indexOf(key, at + 1))
      spans.push([at, at + key.length])
  return spans
}

/**
 * The expected redaction of a text in pieces: overlapping keys count as one, and a key that spans several pieces is
 * redacted in the piece in which it ends.
 */
export function redactBySearch(pieces: readonly string[], keys: readonly string[]): string[] {
  const spans = spansOf(pieces.join(''), keys)
  let from = 0
  return pieces.map((piece) => {
    const start = from
    from += piece.length
    const here = spans
      .filter(([, end]) => end > start && end <= from)
      .map(([begin, end]) => [Math.max(0, begin - start), end - start] as const)
      .sort(([a], [b]) => a - b)
    let redacted = ''
    let at = 0
    for (const [begin, end] of here) {
      if (begin >= at) redacted += `${piece.slice(at, begin)}[redacted]`
      at = Math.max(at, end)
    }
    return redacted + piece.slice(at)
  })
}
