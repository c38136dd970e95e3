import type { LogEntry } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'

/** A row of a log. */
export interface PartRow {
  readonly seq: number
  readonly json: string
}

// The record separator of RFC 7464, section 2.1, which stands in no JSON.
const SEPARATOR = '\u001e'
// Characters of a row. Rows of over 2 kB are compressed, or stored apart.
const MAX_PACKED = 1_800

/**
 * Joins parts that follow each other to rows, since a row and its index entry cost as much as a short part does. A row has the number of
 * its last part, so that the rows after a number have all parts after it, and the last row the last number.
 */
export function packParts(parts: readonly PartRow[]): PartRow[] {
  const rows: PartRow[] = []
  for (const { seq, json } of parts) {
    const row = rows.at(-1)
    const joins = row !== undefined && seq === row.seq + 1 && row.json.length + json.length < MAX_PACKED
    if (joins) rows[rows.length - 1] = { seq, json: row.json + SEPARATOR + json }
    else rows.push({ seq, json })
  }
  return rows
}

/** The entries of a row that come after a number; an earlier row may have some of them too. */
export function unpackParts({ seq, json }: PartRow, after: number): LogEntry[] {
  const parts = json.split(SEPARATOR)
  const before = seq - parts.length
  return parts
    .slice(Math.max(0, after - before))
    .map((part, index) => entryFromJson(Math.max(before, after) + 1 + index, part))
}
