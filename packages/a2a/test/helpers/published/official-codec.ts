import * as sdk from '@a2a-js/sdk'

/** What the official SDK reads and writes messages of 1.0 with: code that is generated from the published proto. */
export interface OfficialCodec {
  fromJSON(value: unknown): Record<string, unknown>
  toJSON(message: never): unknown
}

/** The code for a message of the proto; none for what is not of it. */
export function officialCodec(type: string): OfficialCodec | undefined {
  return (sdk as unknown as Record<string, OfficialCodec | undefined>)[type]
}

/** Where a message says what the proto cannot: what is lost when it is read and written again. */
export function lostByProto(type: string, said: unknown): string[] {
  const codec = officialCodec(type)
  return codec === undefined ? [] : [...losses(said, codec.toJSON(codec.fromJSON(said) as never), '')]
}

function* losses(said: unknown, kept: unknown, path: string): Iterable<string> {
  if (typeof said !== 'object' || said === null) {
    // What a proto has where nothing is set is not written; and this code takes a Value that is null for one that is not set.
    const isUnset = kept === undefined && [null, '', false, 0].includes(said as null)
    if (!isUnset && said !== kept) yield `${path}: ${JSON.stringify(said)} became ${JSON.stringify(kept)}`
    return
  }
  for (const [key, value] of Object.entries(said))
    yield* losses(value, (kept as Record<string, unknown> | undefined)?.[key], `${path}/${key}`)
}
