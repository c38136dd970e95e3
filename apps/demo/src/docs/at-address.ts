const WRITTEN = /\b(?:localhost|127\.0\.0\.1):3000\b/g

/** A text whose commands call the given address, so that they can be pasted. */
export function atAddress(text: string, address: string): string {
  return text.replace(WRITTEN, address)
}
