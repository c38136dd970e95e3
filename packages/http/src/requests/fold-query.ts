import type { FastifyRequest, preValidationHookHandler } from 'fastify'

/**
 * Creates a hook that folds `name[key]=value` of a query into an object under `name`, as some query parsers of apps do
 * themselves.
 */
export function foldQuery(name: string): preValidationHookHandler {
  const start = `${name}[`
  const isFolded = ([key]: [string, unknown]) => key.startsWith(start) && key.endsWith(']')
  return (request, _reply, done) => {
    request.query = fold(request.query as Record<string, unknown>)
    done()
  }

  function fold(query: Record<string, unknown>): FastifyRequest['query'] {
    const entries = Object.entries(query)
    const folded = entries.filter(isFolded).map(([key, value]) => [key.slice(start.length, -1), value])
    if (folded.length === 0 || name in query) return query
    const rest = entries.filter((entry) => !isFolded(entry))
    return { ...Object.fromEntries(rest), [name]: Object.fromEntries(folded) as unknown }
  }
}
