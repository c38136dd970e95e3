import type {
  LanguageModelV4Citation,
  LanguageModelV4Source,
  SharedV4ProviderMetadata
} from '@ai-sdk/provider'
import type { PartOf } from '@svc/registry'

type Citation = PartOf<'citation'>

/**
 * The citations of an answer, each once. Sources wait for the end of their text, since many providers report them again there, with
 * the quoted words.
 */
export class Citations {
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
  return {
    type: 'citation',
    ...place,
    ...(source.title !== undefined && { title: source.title }),
    ...(quote !== undefined && { quote })
  }
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
