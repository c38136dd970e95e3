import { computed, signal } from '@preact/signals'

/** A place in the page: `#/talk/agent/desk?session=s1` has the path `['talk', 'agent', 'desk']`. */
export interface Route {
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

/** Where the visitor is. The fragment works below any prefix, and never reaches the service. */
export const route = computed<Route>(() => parse(hash.value))

/** The address of a place; values that are undefined or empty are left out. */
export function hrefOf(path: readonly string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Goes to a place; with `replace` the one before is not kept. */
export function goTo(href: string, { replace = false } = {}): void {
  if (href === location.hash) return
  if (!replace) {
    location.hash = href
    return
  }
  history.replaceState(null, '', href)
  hash.value = href
}

function parse(text: string): Route {
  const [path = '', search = ''] = text.replace(/^#\/?/, '').split(/\?(.*)/s, 2)
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(search))
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
