import { defined } from '@svc/contract'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import type { Browser, CDPSession } from 'playwright-core'
import type { Download } from '../browser.ts'
import { sessionOfBrowser } from '../page-session.ts'

/** Downloads under way at once, and complete ones that no action has taken. */
const MAX_DOWNLOADS = 20

interface Begun {
  readonly filename: string
  readonly url: string
}

interface Begin {
  readonly frameId: string
  readonly guid: string
  readonly url: string
  readonly suggestedFilename: string
}

interface Progress {
  readonly guid: string
  readonly state: 'inProgress' | 'completed' | 'canceled'
  /** Bytes. */
  readonly receivedBytes: number
  readonly totalBytes: number
}

/** How the downloads of a browser context are treated. */
export interface DownloadOptions {
  readonly browserContextId: string | undefined
  /** Bytes of one download; undefined refuses all. */
  readonly maxBytes: number | undefined
  readonly onNotice: (text: string) => void
  /** True for a frame of the context's pages, by its id. */
  readonly hasFrame: (frameId: string) => Promise<boolean>
}

/** The downloads of a browser context, in a private temporary folder. */
export class Downloads {
  readonly #session: CDPSession
  readonly #options: DownloadOptions
  readonly #folder: string | undefined
  readonly #deciding = new Map<string, Promise<boolean>>()
  readonly #begun = new Map<string, Begun>()
  readonly #complete: Download[] = []
  #settled = Promise.withResolvers<void>()

  static async watch(browser: Browser, options: DownloadOptions): Promise<Downloads> {
    const { browserContextId, maxBytes } = options
    const folder = maxBytes === undefined ? undefined : await mkdtemp(join(tmpdir(), 'svc-downloads-'))
    const session = await sessionOfBrowser(browser)
    const downloads = new Downloads(session, options, folder)
    await session.send('Browser.setDownloadBehavior', {
      ...defined({ browserContextId }),
      ...(folder === undefined
        ? { behavior: 'deny' as const }
        : { behavior: 'allowAndName' as const, downloadPath: folder }),
      eventsEnabled: true
    })
    return downloads
  }

  private constructor(session: CDPSession, options: DownloadOptions, folder: string | undefined) {
    this.#session = session
    this.#options = options
    this.#folder = folder
    // Chromium reports the downloads of all contexts to every session.
    session.on('Browser.downloadWillBegin', this.#onBegin)
    session.on('Browser.downloadProgress', this.#onReport)
  }

  /** Names of those under way. */
  get pending(): readonly string[] {
    return Array.from(this.#begun.values(), quoted)
  }

  /** Resolves once none is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#deciding.values())
    if (this.#begun.size > 0) await this.#settled.promise
  }

  /** Those that are complete, once. */
  take(): readonly Download[] {
    return this.#complete.splice(0)
  }

  /** Removes the files. */
  async close(): Promise<void> {
    this.#session.off('Browser.downloadWillBegin', this.#onBegin)
    this.#session.off('Browser.downloadProgress', this.#onReport)
    if (this.#folder !== undefined)
      await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
  }

  readonly #onBegin = ({ frameId, guid, url, suggestedFilename }: Begin): void => {
    const deciding = this.#isOwn(frameId).then((isOwn) => {
      this.#deciding.delete(guid)
      if (isOwn) this.#begin(guid, { url, filename: cleanName(suggestedFilename) })
      return isOwn
    })
    this.#deciding.set(guid, deciding)
  }

  readonly #onReport = (progress: Progress): void => {
    const deciding = this.#deciding.get(progress.guid)
    if (deciding === undefined) this.#onProgress(progress)
    else void deciding.then(() => this.#onProgress(progress))
  }

  async #isOwn(frameId: string): Promise<boolean> {
    const { browserContextId, hasFrame } = this.#options
    try {
      const { targetInfos } = await this.#session.send('Target.getTargets')
      const target = targetInfos.find(({ targetId }) => targetId === frameId)
      // Frames of the same site as their page are no targets.
      if (target === undefined) return await hasFrame(frameId)
      return browserContextId !== undefined && target.browserContextId === browserContextId
    } catch {
      // The browser has ended.
      return false
    }
  }

  #onProgress({ guid, state, receivedBytes, totalBytes }: Progress): void {
    const begun = this.#begun.get(guid)
    if (begun === undefined) return
    if (state === 'completed') void this.#keep(guid, begun)
    else if (state === 'canceled') this.#drop(guid, `The download of ${quoted(begun)} failed`)
    else if (Math.max(receivedBytes, totalBytes) > (this.#options.maxBytes ?? 0)) this.#refuse(guid, begun)
  }

  #begin(guid: string, begun: Begun): void {
    if (this.#folder === undefined)
      return this.#options.onNotice(`The download of ${quoted(begun)} was refused`)
    this.#begun.set(guid, begun)
    if (this.#begun.size + this.#complete.length > MAX_DOWNLOADS)
      this.#cancel(guid, `The download of ${quoted(begun)} was refused: too many at once`)
  }

  #refuse(guid: string, begun: Begun): void {
    this.#cancel(guid, `The download of ${quoted(begun)} was refused: over ${this.#options.maxBytes} bytes`)
  }

  #cancel(guid: string, notice: string): void {
    const { browserContextId } = this.#options
    this.#drop(guid, notice)
    void this.#session
      .send('Browser.cancelDownload', { guid, ...defined({ browserContextId }) })
      // It has ended meanwhile, or the browser has.
      .catch(() => undefined)
  }

  async #keep(guid: string, begun: Begun): Promise<void> {
    const path = join(this.#folder!, guid)
    const size = await stat(path).then(
      (file) => file.size,
      () => undefined
    )
    if (!this.#begun.has(guid)) return
    if (size === undefined) return this.#drop(guid, `The download of ${quoted(begun)} failed`)
    // Small ones are complete before their progress is reported.
    if (size > this.#options.maxBytes!) {
      await rm(path, { force: true })
      return this.#refuse(guid, begun)
    }
    this.#complete.push({ ...begun, size, content: () => createReadStream(path) })
    this.#drop(guid)
  }

  #drop(guid: string, notice?: string): void {
    this.#begun.delete(guid)
    if (notice !== undefined) this.#options.onNotice(notice)
    if (this.#begun.size > 0) return
    this.#settled.resolve()
    this.#settled = Promise.withResolvers()
  }
}

const MAX_NAME = 200
const MAX_TYPE = 20

/** The page chooses the name. */
function cleanName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  const clean = basename(name.replace(/[\u0000-\u001F\u007F\\]/g, '_'))
  if (clean.length > MAX_NAME) {
    const type = extname(clean).slice(0, MAX_TYPE)
    return `${clean.slice(0, MAX_NAME - MAX_TYPE)}…${type}`
  }
  return clean === '' || clean === '.' || clean === '..' ? 'download' : clean
}

function quoted({ filename }: Begun): string {
  return JSON.stringify(filename)
}
