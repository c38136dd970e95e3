import type { PartOf } from '@svc/contract'
import { cleanLine } from '../clean-text.ts'
import { WebLink } from '../web-link.tsx'

/** A source that an answer names, and what it quotes of it. */
export function Citation({ part: { url, title, documentId, quote } }: { part: PartOf<'citation'> }) {
  const name = cleanLine(title || url || documentId || 'source')
  return (
    <blockquote class="citation">
      {quote !== undefined && <p>{cleanLine(quote, 600)}</p>}
      <footer>
        <bdi>{url === undefined ? name : <WebLink href={url}>{name}</WebLink>}</bdi>
        {url !== undefined && title !== undefined && <span> {hostOf(url)}</span>}
      </footer>
    </blockquote>
  )
}

// A title may say that it is of another place.
const hostOf = (url: string) => (URL.canParse(url) ? cleanLine(new URL(url).host, 80) : '')
