import { outcomeOf, type ToolOutcome } from './conversation.ts'
import type { Asked, Intent, Place } from './intents/intent.ts'

/** A call that the model wants to make. */
export interface PlannedCall {
  toolName: string
  args: Record<string, unknown>
}

/** One hit of the tool `search_docs`. */
export interface SearchHit {
  section: string
  document: string
  heading: string
  coverage: number
}

/** Share of what was asked for that a section must hold to count as an answer. */
const ENOUGH = 0.55
const MAX_READ = 2

/** The search for what a piece wants to know. */
export function searchCall(query: string): PlannedCall {
  return { toolName: 'search_docs', args: { query, limit: 5 } }
}

/** The reading of one section. */
export function readCall(section: string): PlannedCall {
  return { toolName: 'read_section', args: { section } }
}

/** The calculation of one expression. */
export function calculateCall(expression: string): PlannedCall {
  return { toolName: 'calculate', args: { expression } }
}

/** The time at a place, or where the service runs. */
export function clockCall(place: Place | undefined): PlannedCall {
  return { toolName: 'current_time', args: place?.zone ? { timeZone: place.zone } : {} }
}

/** The calls that are still to be made, each once, for all pieces at the same time. */
export function planCalls(
  pieces: readonly Asked[],
  outcomes: readonly ToolOutcome[],
  tools: ReadonlySet<string>
): PlannedCall[] {
  const calls = new Map<string, PlannedCall>()
  for (const { intent } of pieces) {
    for (const call of callsFor(intent, outcomes)) {
      if (tools.has(call.toolName) && outcomeOf(outcomes, call) === undefined)
        calls.set(JSON.stringify([call.toolName, call.args]), call)
    }
  }
  return [...calls.values()]
}

function callsFor(intent: Intent, outcomes: readonly ToolOutcome[]): PlannedCall[] {
  switch (intent.type) {
    case 'calculate':
      return [calculateCall(intent.expression)]
    case 'clock': {
      const known = intent.places.filter(({ zone }) => zone !== null)
      return intent.places.length === 0 ? [clockCall(undefined)] : known.map(clockCall)
    }
    case 'documents':
    case 'foreign':
    case 'statement':
      if (intent.query === '') return []
      return [
        searchCall(intent.query),
        ...sectionsToRead(intent, outcomes).map(({ section }) => readCall(section))
      ]
    default:
      return []
  }
}

/** The sections that are worth reading, once the search is done: the best, and others that hold about as much. */
export function sectionsToRead(
  intent: Extract<Intent, { query: string }>,
  outcomes: readonly ToolOutcome[]
): SearchHit[] {
  const known = new Set(intent.type === 'documents' && intent.more ? intent.known : [])
  const hits = hitsOf(outcomeOf(outcomes, searchCall(intent.query)))
  const best = hits[0]?.coverage ?? 0
  const enough = known.size > 0 ? Math.min(ENOUGH, best * 0.7) : ENOUGH
  return hits.filter(({ section, coverage }) => coverage >= enough && !known.has(section)).slice(0, MAX_READ)
}

/** The hits that a search gave; none where it failed or gave something else. */
export function hitsOf(outcome: ToolOutcome | undefined): SearchHit[] {
  const results = (outcome?.result as { results?: unknown } | undefined)?.results
  return Array.isArray(results) ? (results as SearchHit[]) : []
}
