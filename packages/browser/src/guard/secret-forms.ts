// Shorter pieces would match ordinary words.
const MIN_BASE64 = 8

/** The encodings in which a value may come back from a page: in URLs, forms, HTML, JSON, base64 and hexadecimal digits. */
export function formsOf(value: string): string[] {
  const inUrl = encodeURIComponent(value)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const bytes = Buffer.from(value)
  const forms = [
    ...[value, inUrl, inForm, encodeURI(value), JSON.stringify(value).slice(1, -1)],
    ...[toHtml(value), ...toBase64Forms(bytes), bytes.length >= 4 ? bytes.toString('hex') : value]
  ]
  return [...new Set(forms)]
}

/** A pattern for these texts in names of files, where any character but letters and digits may be replaced; undefined for none. */
export function toNamePattern(texts: readonly string[]): RegExp | undefined {
  const named = texts.filter((text) => /[\p{L}\p{N}]{3}/u.test(text))
  if (named.length === 0) return undefined
  return new RegExp(named.map((text) => text.replaceAll(/[^\p{L}\p{N}]/gu, '.?')).join('|'), 'gsu')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function toHtml(value: string): string {
  return value.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)
}

// Where a value begins in a longer text decides its base64: each of the three ways, without the digits that its neighbors share.
function toBase64Forms(bytes: Buffer): string[] {
  const forms = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '')
    const isShared = (offset + bytes.length) % 3 !== 0
    return text.slice([0, 2, 3][offset], isShared ? -1 : undefined)
  })
  return forms
    .flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
    .filter(({ length }) => length >= MIN_BASE64)
}
