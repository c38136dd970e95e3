import type { FastifyInstance } from 'fastify'

/** The methods that the routes of a scope accept, by path. */
export interface AllowedMethods {
  /** The methods of a URL, sorted; empty if no route has its path. */
  of(url: string): string[]
}

/** Records the routes added to a scope from now on. */
export function learnMethods(scope: Pick<FastifyInstance, 'addHook'>): AllowedMethods {
  const routes: { pattern: string[]; methods: string[] }[] = []
  scope.addHook('onRoute', ({ method, url }) => {
    routes.push({ pattern: url.split('/'), methods: [method].flat() })
  })
  return {
    of(url) {
      const path = url.split(/[?#]/, 1)[0]!.split('/')
      const found = routes.filter(({ pattern }) => fits(pattern, path))
      return [...new Set(found.flatMap(({ methods }) => methods))].toSorted()
    }
  }
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.at(-1) !== '*' && pattern.length !== path.length) return false
  return pattern.every((segment, index) => {
    const asked = path[index]
    if (segment === '*') return asked !== undefined
    return segment.startsWith(':') ? asked !== '' : segment === decode(asked)
  })
}

function decode(segment = ''): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
