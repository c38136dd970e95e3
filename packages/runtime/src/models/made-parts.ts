import type {
  LanguageModelV4Citation,
  LanguageModelV4File,
  LanguageModelV4ReasoningFile,
  LanguageModelV4Source
} from '@ai-sdk/provider'
import type { PartOf } from '@svc/registry'
import type { MadeFile } from '@svc/registry/kit'
import { Citations } from './citations.ts'

/** A part for the log, or a file whose part is known once it is kept. */
export type Made = PartOf<'citation'> | PartOf<'file'> | MadeFile

/** What an answer has beside text, reasoning and tool calls: files and citations. */
export class MadeParts {
  #parts: Made[] = []
  #citations: Citations | undefined

  get length(): number {
    return this.#parts.length
  }

  /** Returns what was added since the last call. */
  take(): Made[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  addFile({ type, data, mediaType: mimeType }: LanguageModelV4File | LanguageModelV4ReasoningFile): void {
    const file = { mimeType, ...(type === 'reasoning-file' && { purpose: 'reasoning' }) }
    const bytes = data.type === 'url' ? readDataUrl(data.url) : data.data
    if (bytes !== undefined) this.#parts.push({ data: bytes, ...file })
    else if (data.type === 'url')
      this.#parts.push({ type: 'file', url: data.originalUrl ?? data.url.href, ...file })
  }

  addToolFile(file: Pick<MadeFile, 'mimeType' | 'data'>, toolCallId: string): void {
    this.#parts.push({ ...file, toolCallId })
  }

  addSource(source: LanguageModelV4Source): void {
    this.#citations ??= new Citations()
    this.#citations.add(source)
  }

  /** Ends a text or the answer, and adds the citations so far. */
  endText(citations?: readonly LanguageModelV4Citation[]): void {
    if (citations === undefined && this.#citations === undefined) return
    this.#citations ??= new Citations()
    this.#parts.push(...this.#citations.take(citations))
  }
}

// The bytes of a `data:` URL (RFC 2397), or their base64; undefined for any other URL.
function readDataUrl({ protocol, pathname, search }: URL): Uint8Array | string | undefined {
  if (protocol !== 'data:') return undefined
  const [, head = '', data = ''] = /^([^,]*),(.*)$/s.exec(pathname + search) ?? []
  const bytes = Buffer.from(unescapePercents(data), 'latin1')
  return /;\s*base64\s*$/i.test(head) ? bytes.toString('latin1') : bytes
}

function unescapePercents(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16))
  )
}
