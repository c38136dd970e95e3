import { RUN_ERR_BAD_PART, type Part } from '@svc/contract'

/**
 * Encodes a part at its place in the log, or one that has none: a transient part.
 * @throws RUN_ERR_BAD_PART if it has no JSON (a cycle, a BigInt)
 */
export function encodeJson(seq: number | undefined, at: number, part: Part): string {
  let json: string | undefined
  try {
    // These fields come first, and the engine's replace those that the part may carry.
    const placed = { seq, type: part.type, at, ...(part as object) }
    placed.seq = seq
    placed.at = at
    json = JSON.stringify(placed)
  } catch (err) {
    throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON`, { cause: err })
  }
  if (!json?.startsWith('{"')) throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON object`)
  return escapeLineEnds(json)
}

// Some event stream readers, and JavaScript before 2019, take these for line ends.
function escapeLineEnds(json: string): string {
  return json.replace(/[\u2028\u2029]/g, (end) =>
    end === '\u2028' ? String.raw`\u2028` : String.raw`\u2029`
  )
}
