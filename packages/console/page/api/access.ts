import { signal } from '@preact/signals'

const KEY = 'svc-console-token'

/** Whether the visitor may use the service: `out` as soon as it refuses the credentials. */
export const access = signal<'unknown' | 'in' | 'out'>('unknown')
/** Counts sign-ins: what was read before belongs to another visitor. */
export const visits = signal(0)

let token = readToken()

/** The token of the visitor, if one was entered: it lives as long as the tab. */
export const currentToken = (): string | undefined => token

/** Takes a token for the requests that follow. */
export function enterToken(entered: string): void {
  token = entered
  keep(() => sessionStorage.setItem(KEY, entered))
}

/** Forgets the token. */
export function leave(): void {
  token = undefined
  keep(() => sessionStorage.removeItem(KEY))
  access.value = 'out'
}

function readToken(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return undefined
  }
}

// Storage may be off: then the token lives until the page is reloaded.
function keep(write: () => void): void {
  try {
    write()
  } catch {}
}
