import type { FastifyReply } from 'fastify'

/** The longest time that a reply waits for its run, in seconds. */
const MAX_WAIT = 600

/** How long a client waits for the result of a run. */
export interface Patience {
  /** Milliseconds; 0: not at all. */
  readonly ms: number
  /** Sets `Preference-Applied`. @param inTime whether the run ended within the time */
  apply(reply: FastifyReply, inTime: boolean): void
}

/**
 * Reads the preferences `respond-async` and `wait`; undefined if the client waits for the end of the run. Of repeated preferences
 * the first counts; invalid ones are ignored, as the specification requires. More than 600 seconds count as 600.
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-4
 */
export function readPatience(prefer: string | string[] | undefined): Patience | undefined {
  if (prefer === undefined) return undefined
  const preferences = parse(String(prefer))
  const isAsync = preferences.has('respond-async')
  const asked = preferences.get('wait')
  const wait = asked !== undefined && /^\d+$/.test(asked) ? Math.min(Number(asked), MAX_WAIT) : undefined
  if (!isAsync && wait === undefined) return undefined
  return {
    ms: (wait ?? 0) * 1_000,
    apply(reply, inTime) {
      const applied = [
        ...(isAsync && !inTime ? ['respond-async'] : []),
        ...(wait === undefined ? [] : [`wait=${wait}`])
      ]
      reply.header('preference-applied', applied.join(', '))
    }
  }
}

// An unclosed quote extends to the end: neither expression backtracks, however long the header is.
const PREFERENCES = /(?:"(?:[^"\\]|\\.)*"?|[^",])+/g
const VALUE = /^=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s=;",]*))/

function parse(prefer: string): Map<string, string> {
  const preferences = new Map<string, string>()
  for (const [text] of prefer.matchAll(PREFERENCES)) {
    const preference = text.trimStart()
    const name = /^[^\s=;",]+/.exec(preference)?.[0].toLowerCase()
    if (name === undefined || preferences.has(name)) continue
    const [, quoted, word = ''] = VALUE.exec(preference.slice(name.length).trimStart()) ?? []
    preferences.set(name, quoted?.replaceAll(/\\(.)/g, '$1') ?? word)
  }
  return preferences
}
