import type { LanguageModelV4 } from '@ai-sdk/provider'

/** True if the model itself fetches a URL of this media type. */
export type UrlSupport = (url: URL, mimeType: string) => boolean

/** Reads from `supportedUrls` which URLs a model fetches itself. */
export async function urlSupportOf({ supportedUrls }: LanguageModelV4): Promise<UrlSupport> {
  const patterns = Object.entries((await supportedUrls) ?? {}).map(([type, urls]) => ({
    fits: typeFits(type.toLowerCase()),
    urls
  }))
  return ({ href }, mimeType) => {
    const type = mimeType.toLowerCase()
    // Not `href.toLowerCase()`: paths are case-sensitive.
    return patterns.some(({ fits, urls }) => fits(type) && urls.some((url) => href.search(url) !== -1))
  }
}

function typeFits(pattern: string): (type: string) => boolean {
  if (pattern === '*' || pattern === '*/*') return () => true
  if (pattern.endsWith('/*')) return (type) => type.startsWith(pattern.slice(0, -1))
  return (type) => type === pattern
}
