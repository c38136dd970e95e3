/** A part of a file: from the byte `start` to before the byte `end`. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

/**
 * The bytes that a `Range` header selects from a file of `size` bytes; null if it has none of them. Undefined, for the whole file:
 * without a header, and for several ranges, another unit or a malformed header, which servers may ignore.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-14.2
 */
export function selectBytes(header: string | undefined, size: number): ByteSpan | null | undefined {
  const [, ranges = ''] = /^bytes=(.*)$/i.exec(header ?? '') ?? []
  // Lists may have empty elements.
  const [range, ...others] = ranges.split(',').flatMap((each) => each.trim() || [])
  const [, first, last] = /^(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || others.length > 0) return undefined
  if (first === '') return last === '' ? undefined : selectLast(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  return start < size ? { start, end } : null
}

function selectLast(count: number, size: number): ByteSpan | null | undefined {
  if (count === 0) return null
  // `Content-Range` cannot express a range of an empty file.
  return size === 0 ? undefined : { start: Math.max(0, size - count), end: size }
}
