import { escapeNul } from '../../encoding/values.ts'

/** Object ids of the element types. */
const TEXT = 25
const INT4 = 23
const INT8 = 20

// Dimensions, whether there are nulls, the element type; then the length and the lower bound of the one dimension.
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** A `text[]` in the binary format: no quotes to write, and none to parse. Null characters are escaped. */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const values = texts.map((text) => text && escapeNul(text))
  let size = HEADER_BYTES
  for (const value of values) size += LENGTH_BYTES + (value === null ? 0 : Buffer.byteLength(value))
  const bytes = writeHeader(size, TEXT, values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    const length = value === null ? 0 : bytes.write(value, at + LENGTH_BYTES)
    bytes.writeInt32BE(value === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
  }
  return bytes
}

/** An `integer[]` in the binary format. */
export function intArray(values: readonly (number | null)[]): Buffer {
  let size = HEADER_BYTES
  for (const value of values) size += LENGTH_BYTES + (value === null ? 0 : 4)
  const bytes = writeHeader(size, INT4, values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    bytes.writeInt32BE(value === null ? NULL_LENGTH : 4, at)
    at += LENGTH_BYTES
    if (value === null) continue
    bytes.writeInt32BE(value, at)
    at += 4
  }
  return bytes
}

/** A `bigint[]` in the binary format. */
export function bigintArray(values: readonly (number | bigint | null)[]): Buffer {
  let size = HEADER_BYTES
  for (const value of values) size += LENGTH_BYTES + (value === null ? 0 : 8)
  const bytes = writeHeader(size, INT8, values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    bytes.writeInt32BE(value === null ? NULL_LENGTH : 8, at)
    at += LENGTH_BYTES
    if (value === null) continue
    bytes.writeBigInt64BE(BigInt(value), at)
    at += 8
  }
  return bytes
}

function writeHeader(size: number, type: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  bytes.writeInt32BE(1, 0)
  bytes.writeInt32BE(1, 4)
  bytes.writeInt32BE(type, 8)
  bytes.writeInt32BE(length, 12)
  bytes.writeInt32BE(1, 16)
  return bytes
}
