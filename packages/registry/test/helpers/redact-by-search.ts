/** Where in a text the keys are, found in the simplest way: every one, overlapping ones too. */
function spansOf(text: string, keys: readonly string[]): [start: number, end: number][] {
  const spans: [number, number][] = []
  for (const key of keys)
    for (let at = text.indexOf(key); at !== -1; at = text.indexOf(key, at + 1))
      spans.push([at, at + key.length])
  return spans
}

/**
 * What is to be told of a text whose pieces were interrupted: keys that overlap are one, and of a key that goes over an
 * interruption the piece in which it ends is redacted.
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
    let told = ''
    let at = 0
    for (const [begin, end] of here) {
      if (begin >= at) told += `${piece.slice(at, begin)}[redacted]`
      at = Math.max(at, end)
    }
    return told + piece.slice(at)
  })
}
