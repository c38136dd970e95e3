import { expose, isExposed } from '@svc/contract'
import type {
  Acted,
  Desk,
  DeskAction,
  DeskPlace,
  Download,
  Look,
  LookOptions,
  Screenshot,
  Spot,
  StorageState,
  Target
} from '../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_HOST_REFUSED } from '../errors.ts'
import { cleanText } from '../look/to-lines.ts'
import type { Secrets } from './secrets.ts'

/** A desk from which no secret returns: it fills them in, and redacts every text. */
export class GuardedDesk {
  readonly #desk: Desk
  readonly #secrets: Secrets
  // Elements that got a secret, to be covered in screenshots.
  readonly #filled = new Set<string>()

  constructor(desk: Desk, secrets: Secrets) {
    this.#desk = desk
    this.#secrets = secrets
  }

  async place(): Promise<DeskPlace> {
    return this.#redactPlace(await this.#call(() => this.#desk.place()))
  }

  async look(options?: LookOptions): Promise<Look> {
    const look = await this.#call(() => this.#desk.look(options))
    return { ...look, ...this.#redactPlace(look), text: this.#secrets.redact(look.text) }
  }

  async target(spot: Spot): Promise<Target> {
    const target = await this.#call(() => this.#desk.target(spot))
    const { frameUrl, name, form, href } = target
    const redact = (text: string) => this.#secrets.redact(text)
    return {
      ...target,
      frameUrl: redact(frameUrl),
      name: cleanText(redact(name)),
      ...(form && { form: { ...form, action: redact(form.action) } }),
      ...(href !== undefined && { href: redact(href) })
    }
  }

  /** @throws RUN_ERR_BROWSER_HOST_REFUSED for a secret on another host, and the errors of the desk */
  async act(action: DeskAction, signal: AbortSignal): Promise<Acted> {
    const filled = action.action === 'type' ? await this.#fill(action) : action
    const { downloads, notices } = await this.#call(() => this.#desk.act(filled, signal))
    return {
      notices: notices.map((notice) => cleanText(this.#secrets.redactName(notice))),
      downloads: downloads.map((download): Download => {
        const { filename, url, size } = download
        const redacted = {
          filename: cleanText(this.#secrets.redactName(filename)),
          url: this.#secrets.redact(url)
        }
        return { ...redacted, size, content: () => download.content() }
      })
    }
  }

  /** @throws RUN_ERR_BROWSER_ACTION_FAILED if the page shows a secret as text */
  async screenshot(marks: boolean): Promise<Screenshot> {
    if (!this.#secrets.isEmpty) await this.#coverFields()
    return this.#call(() => this.#desk.screenshot({ marks, hide: [...this.#filled] }))
  }

  state(): Promise<StorageState> {
    return this.#desk.state()
  }

  close(): Promise<void> {
    return this.#desk.close()
  }

  // Fields are covered wherever they have a secret: it may have been typed at coordinates, or be there after a reload.
  async #coverFields(): Promise<void> {
    const { text } = await this.#call(() => this.#desk.look({ maxChars: MAX_SHOWN }))
    const isFilled = (line: string) => [...this.#filled].some((ref) => line.includes(`[ref=${ref}]`))
    for (const line of text.split('\n').filter((each) => this.#secrets.isIn(each) && !isFilled(each))) {
      const [head = '', ref] = FIELD.exec(line) ?? []
      if (ref === undefined || this.#secrets.isIn(head))
        throw new RUN_ERR_BROWSER_ACTION_FAILED('no screenshot, because the page shows a secret')
      this.#filled.add(ref)
    }
  }

  async #fill(action: Extract<DeskAction, { action: 'type' }>): Promise<DeskAction> {
    const { at, text } = action
    if (!this.#secrets.isNamedIn(text)) return action
    if (at === undefined)
      throw new RUN_ERR_BROWSER_HOST_REFUSED('a secret needs the field that it is typed into')
    const filled = this.#secrets.fill(text, await this.#desk.target(at))
    if ('ref' in at) this.#filled.add(at.ref)
    return { ...action, text: filled }
  }

  // Pages choose all of it, and how long it is.
  #redactPlace({ url, title, tabs, dialog }: DeskPlace): DeskPlace {
    const clean = (text: string, maxChars: number) => cleanText(this.#secrets.redact(text), maxChars)
    return {
      url: clean(url, MAX_URL),
      title: clean(title, MAX_TITLE),
      tabs: tabs.map((tab) => ({ ...tab, url: clean(tab.url, MAX_URL) })),
      ...(dialog && { dialog: { ...dialog, message: clean(dialog.message, MAX_MESSAGE) } })
    }
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      throw this.#redactError(err)
    }
  }

  // Playwright quotes what it was asked to type.
  #redactError(err: unknown): unknown {
    if (!(err instanceof Error) || !this.#secrets.isIn(`${err.message}\n${err.stack}`)) return err
    const message = this.#secrets.redact(err.message)
    if (!isExposed(err)) return new Error(message)
    const { code, statusCode } = err
    return expose({ code, message, ...(statusCode !== undefined && { statusCode }) })
  }
}

const MAX_SHOWN = 200_000
const MAX_URL = 2_000
const MAX_TITLE = 300
const MAX_MESSAGE = 1_000
// A line of a look up to the value of a field. Names are quoted, so that none can forge a ref.
const FIELD =
  /^\s*- (?:textbox|searchbox|combobox) (?:"(?:[^"\\]|\\.)*" |\[[\w-]+(?:=(?:[\w.]+|"(?:[^"\\]|\\.)*"))?\] )*\[ref=(\w+)\]: /

/** Why a run makes no progress, in words for the model; `isOver` if it must end. */
export interface LoopVerdict {
  readonly text: string
  readonly isOver: boolean
}

const WINDOW = 20
const WARN_AT = 3
const END_AT = 5

/** Notices when a model repeats itself without effect, or fails again and again. */
export class LoopGuard {
  readonly #recent: string[] = []
  #failures = 0

  /** Counts an action by its name and arguments, and by the hash of the page that it led to. */
  acted(action: string, args: unknown, hash: string): LoopVerdict | undefined {
    this.#failures = 0
    const key = JSON.stringify([action, args, hash])
    this.#recent.push(key)
    if (this.#recent.length > WINDOW) this.#recent.shift()
    const count = this.#recent.filter((each) => each === key).length
    if (count < WARN_AT) return undefined
    const text = `The same action led to the same page ${count} times.`
    if (count >= END_AT) return { text: `${text} The run ends here.`, isOver: true }
    return { text: `${text} Try something else, or answer with what you know.`, isOver: false }
  }

  /** Counts an action that failed. */
  failed(): LoopVerdict | undefined {
    this.#failures++
    if (this.#failures < END_AT) return undefined
    return { text: `${this.#failures} actions in a row failed. The run ends here.`, isOver: true }
  }
}
