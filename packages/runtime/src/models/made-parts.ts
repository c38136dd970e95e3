import type {
  LanguageModelV4Citation,
  LanguageModelV4File,
  LanguageModelV4ReasoningFile,
  LanguageModelV4Source,
  SharedV4ProviderMetadata
} from '@ai-sdk/provider'
import { defined, type PartOf } from '@svc/contract'
import type { MadeFile } from '@svc/registry/engine'

type Citation = PartOf<'citation'>

/**
 * The citations of an answer, each once. Sources wait for the end of their text, since many providers report them again there, with
 * the quoted words.
 */
class Citations {
  readonly #waiting: Citation[] = []
  readonly #given = new Set<string>()

  add(source: LanguageModelV4Source): void {
    this.#waiting.push(toCitation(source, textIn(source.providerMetadata, 'citedText')))
  }

  /** The citations of a text that ends, then the sources that none of them quotes. */
  take(ofText: readonly LanguageModelV4Citation[] = []): Citation[] {
    const quoted = ofText.map(({ source, citedText }) => toCitation(source, citedText))
    const others = this.#waiting.splice(0).filter((source) => !quoted.some((each) => isSame(each, source)))
    return [...quoted, ...others].filter((citation) => this.#isNew(citation))
  }

  #isNew(citation: Citation): boolean {
    const text = JSON.stringify(citation)
    if (this.#given.has(text)) return false
    this.#given.add(text)
    return true
  }
}

function toCitation(source: LanguageModelV4Source, quote: string | undefined): Citation {
  const place =
    source.sourceType === 'url'
      ? { url: source.url }
      : { documentId: textIn(source.providerMetadata, 'fileId') ?? source.id }
  return { type: 'citation', ...place, ...defined({ title: source.title, quote }) }
}

// Ids of documents may differ: provider packages invent some of them.
function isSame(one: Citation, other: Citation): boolean {
  return one.url === other.url && (one.url !== undefined || one.title === other.title)
}

function textIn(metadata: SharedV4ProviderMetadata | undefined, name: string): string | undefined {
  return Object.values(metadata ?? {})
    .map((ofProvider) => ofProvider[name])
    .find((value) => typeof value === 'string')
}

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
