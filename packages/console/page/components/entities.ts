// The named character references that models write; others stay as they are.
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  times: '×',
  middot: '·',
  bull: '•',
  deg: '°',
  euro: '€',
  rarr: '→',
  larr: '←'
}

/** Reads the character references of a text: CommonMark, section 2.5. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replaceAll(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name]! : whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : '\ufffd'
    }
  )
}
