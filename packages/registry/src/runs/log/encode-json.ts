import type { Part } from '../../contract/part.ts'
import { RUN_ERR_BAD_PART } from '../../errors.ts'

/** The JSON of a part and its number. @throws RUN_ERR_BAD_PART when the part has none (a cycle, a BigInt) */
export function encodeJson(seq: number, part: Part): string {
  let json: string | undefined
  try {
    // The number comes first, and is ours even where a runnable hands on parts that have one.
    const numbered = { seq, ...part }
    numbered.seq = seq
    json = JSON.stringify(numbered)
  } catch (err) {
    throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON`, { cause: err })
  }
  if (!json?.startsWith('{"')) throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON object`)
  return escapeLineEnds(json)
}

// Line ends to some readers of an event stream, and to JavaScript before 2019.
function escapeLineEnds(json: string): string {
  return json.replace(/[\u2028\u2029]/g, (end) =>
    end === '\u2028' ? String.raw`\u2028` : String.raw`\u2029`
  )
}
