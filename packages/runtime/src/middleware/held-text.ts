import { TextSplitter } from './split-sentences.ts'
import type { Block, TextHold } from './middleware.ts'

/** What a check has made of a text: nothing, another text, or a block. */
export type TextVerdict = { readonly action: 'replace'; readonly text: string } | Block | undefined

/** Checks a piece of a text. @param text all of the text so far, the piece at its end */
export type CheckText = (held: string, text: string, final: boolean) => Promise<TextVerdict>

/** A text on its way through one hook: what is not checked yet stays behind. */
export interface HeldText {
  /** Takes the next increment, or the last one; returns what may go on, or the block that ends the text. */
  push(delta: string, final: boolean): Promise<string | Block>
}

/** @param check whether the hook only reports, and holds nothing */
export function holdText(hold: TextHold, check: CheckText, audits: boolean): HeldText {
  const windows = typeof hold === 'number' ? new OverlappingWindows(hold) : new Windows(splitBy(hold))
  return audits ? new ObservedText(windows, check) : new CheckedText(windows, check)
}

/** Cuts a text into what is to be checked at once. */
interface Cutter {
  /** Takes an increment; returns what is to be checked now, which is empty while its end is to come. */
  push(delta: string, final: boolean): string
  /** Takes what the check has left of it; returns what may go on. */
  settle(checked: string, final: boolean): string
}

type Split = (delta: string, final: boolean) => string

function splitBy(hold: 'sentence' | 'step'): Split {
  if (hold === 'sentence') {
    const splitter = new TextSplitter()
    return (delta, final) => [...splitter.push(delta), ...(final ? splitter.flush() : [])].join('')
  }
  let text = ''
  return (delta, final) => {
    text += delta
    return final ? text : ''
  }
}

class Windows implements Cutter {
  readonly push: Split

  constructor(split: Split) {
    this.push = split
  }

  settle(checked: string): string {
    return checked
  }
}

/** The last characters of a window are the first ones of the next: no match of that length is ever cut. */
class OverlappingWindows implements Cutter {
  readonly #length: number
  #held = ''

  /** @param length characters that stay behind */
  constructor(length: number) {
    this.#length = length
  }

  push(delta: string, final: boolean): string {
    this.#held += delta
    return final || this.#held.length >= 2 * this.#length ? this.#held : ''
  }

  settle(checked: string, final: boolean): string {
    const end = final ? checked.length : Math.max(0, checked.length - this.#length)
    const cut = isWithinPair(checked, end) ? end - 1 : end
    this.#held = checked.slice(cut)
    return checked.slice(0, cut)
  }
}

function isWithinPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}

class CheckedText implements HeldText {
  readonly #windows: Cutter
  readonly #check: CheckText
  #released = ''

  constructor(windows: Cutter, check: CheckText) {
    this.#windows = windows
    this.#check = check
  }

  async push(delta: string, final: boolean): Promise<string | Block> {
    const held = this.#windows.push(delta, final)
    if (held === '') return ''
    const verdict = await this.#check(held, this.#released + held, final)
    if (verdict?.action === 'block') return verdict
    const released = this.#windows.settle(verdict?.text ?? held, final)
    this.#released += released
    return released
  }
}

/** Text that goes on at once; its checks follow one another beside it. */
class ObservedText implements HeldText {
  readonly #windows: Cutter
  readonly #check: CheckText
  #seen = ''
  #checks: Promise<unknown> = Promise.resolve()

  constructor(windows: Cutter, check: CheckText) {
    this.#windows = windows
    this.#check = check
  }

  async push(delta: string, final: boolean): Promise<string> {
    const held = this.#windows.push(delta, final)
    if (held !== '') {
      const text = this.#seen + held
      this.#seen += this.#windows.settle(held, final)
      this.#checks = this.#checks.then(() => this.#check(held, text, final))
      // An error shows at the end of the text.
      this.#checks.catch(() => {})
    }
    if (final) await this.#checks
    return delta
  }
}
