import { setNewest } from '@svc/contract'

const MAX_HOSTS = 20
const MAX_CHARS = 200_000
// Shorter pieces occur on every page.
const MIN_PIECE = 6

/** The hosts that a run has visited, and the texts that it has seen there. */
export class SeenTexts {
  readonly #texts = new Map<string, string>()

  /** Remembers the text of a page. */
  add(url: string, text: string): void {
    const host = hostOf(url)
    if (host === undefined) return
    const all = `${this.#texts.get(host) ?? ''}\n${text.toLowerCase()}`
    setNewest(this.#texts, host, all.slice(-MAX_CHARS), MAX_HOSTS)
  }

  hasVisited(url: string): boolean {
    const host = hostOf(url)
    return host !== undefined && this.#texts.has(host)
  }

  /** A piece of a URL that was seen on a page of another host, but not in a text of the user; undefined if there is none. */
  pieceIn(url: string, ofUser: string): string | undefined {
    const parsed = URL.parse(url)
    if (parsed === null) return undefined
    const { host, searchParams, pathname, hash } = parsed
    const elsewhere = [...this.#texts].filter(([other]) => other !== host).map(([, text]) => text)
    const pieces = [...[...searchParams].flat(), ...pathname.split('/'), hash.slice(1)].map(decode)
    return pieces.find(
      (piece) =>
        piece.length >= MIN_PIECE &&
        !ofUser.toLowerCase().includes(piece.toLowerCase()) &&
        elsewhere.some((text) => text.includes(piece.toLowerCase()))
    )
  }
}

function hostOf(url: string): string | undefined {
  return URL.parse(url)?.host || undefined
}

function decode(piece: string): string {
  try {
    return decodeURIComponent(piece.replaceAll('+', ' '))
  } catch {
    return piece
  }
}
