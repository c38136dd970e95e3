/** A place whose time is asked for; `zone` is null where it is unknown or has several. */
export interface Place {
  label: string
  zone: string | null
}

/** What one piece of a message wants. */
export type Intent =
  | { type: 'small-talk'; kind: 'greeting' | 'thanks' | 'farewell' | 'acknowledgement' | 'well-being' }
  | { type: 'capabilities' }
  | { type: 'empty' }
  | { type: 'unclear' }
  | { type: 'code' }
  | { type: 'instructions' }
  | { type: 'calculate'; expression: string; claimed?: string }
  | { type: 'units'; unit: string }
  | { type: 'clock'; aspect: 'time' | 'date'; places: Place[] }
  | { type: 'state-fact'; key: string; value: string }
  | { type: 'recall-fact'; key: string }
  | { type: 'recall-question'; which: number | 'last' | 'all' | 'count' }
  | { type: 'recall-topic'; whose: 'question' | 'answer'; topic: string }
  | { type: 'recall-answer'; which: 'first' | 'last' }
  | { type: 'documents'; query: string; more: boolean; known: string[] }
  | { type: 'foreign'; language: string; query: string }
  | { type: 'statement'; query: string }

/** A piece of a message with what it wants. */
export interface Asked {
  text: string
  intent: Intent
  /** Index of the turn that it belongs to; the current one comes after all earlier ones. */
  turn: number
}

/** Reads what a piece of a message wants; undefined where it is nothing that this reader knows. */
export type IntentReader = (text: string, before: Before) => Intent | undefined

/** What was said before a piece: everything in earlier turns, and the pieces before it in its own message. */
export interface Before {
  asked: readonly Asked[]
  /** Sections that were read for earlier answers. */
  readSections: readonly string[]
}
