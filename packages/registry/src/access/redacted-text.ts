import { REDACTED } from '../contract/provider-key.ts'
import { goOn, type Secret } from './secrets.ts'

interface Span {
  readonly start: number
  end: number
}

/**
 * A text without the secrets in it that comes in increments and is told in increments. What may be the beginning of a
 * secret is held back until the text goes on: at most the longest secret, less one character. However the text is cut, what
 * is told of it joins to the same; secrets that overlap are one. The time is linear in the text.
 */
export class RedactedText {
  readonly #secrets: readonly Secret[]
  // With how many first characters of each secret, fewer than all, the text so far ends.
  readonly #begun: number[]
  // What is not told yet.
  #held = ''
  // Where secrets are in it.
  #found: Span[] = []
  // How much of its beginning is the end of a secret that is told as redacted already.
  #covered = 0

  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets
    this.#begun = secrets.map(() => 0)
  }

  /** Whether what comes next may end a secret that has begun. Where not, nothing is held back. */
  get open(): boolean {
    return this.#begun.some((count) => count > 0)
  }

  /** Takes an increment, and gives what can be told now. */
  add(increment: string): string {
    const text = this.#held + increment
    this.#secrets.forEach((_, index) => this.#search(index, text, this.#held.length))
    return this.#tell(text, Math.max(0, text.length - Math.max(...this.#begun)))
  }

  /** Gives what is held back. Should it have been a secret's beginning, only the rest of that is redacted. */
  flush(): string {
    return this.#tell(this.#held, this.#held.length)
  }

  #search(index: number, text: string, from: number): void {
    const secret = this.#secrets[index]!
    const { length } = secret.text
    let begun = this.#begun[index]!
    for (let at = from; at < text.length; at++) {
      if (begun === 0) {
        at = text.indexOf(secret.text[0]!, at)
        if (at === -1) break
      }
      begun = goOn(secret, begun, text.charCodeAt(at))
      if (begun < length) continue
      // What was told of it already stays told.
      this.#find(Math.max(0, at + 1 - length), at + 1)
      begun = secret.borders[length - 1]!
    }
    this.#begun[index] = begun
  }

  #find(start: number, end: number): void {
    const last = this.#found.at(-1)
    if (last !== undefined && last.start <= start && start < last.end) last.end = Math.max(last.end, end)
    else this.#found.push({ start, end })
  }

  // Tells the text up to a place at or before which every secret to come begins anew.
  #tell(text: string, until: number): string {
    const later: Span[] = []
    let told = ''
    let at = this.#covered
    for (const span of this.#found.sort((a, b) => a.start - b.start)) {
      if (span.start >= until) later.push({ start: span.start - until, end: span.end - until })
      else {
        if (span.start >= at) told += text.slice(at, span.start) + REDACTED
        at = Math.max(at, span.end)
      }
    }
    if (at < until) told += text.slice(at, until)
    this.#held = text.slice(until)
    this.#found = later
    this.#covered = Math.max(0, at - until)
    return told
  }
}

/** A text without the secrets in it. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  if (!secrets.some((secret) => text.includes(secret.text))) return text
  const redacted = new RedactedText(secrets)
  return redacted.add(text) + redacted.flush()
}
