import type { ComponentChildren } from 'preact'
import { cleanText } from './clean-text.ts'

/** A link to the web, in a tab that knows nothing of this one; any other address is text. */
export function WebLink({ href, children }: { href: string; children: ComponentChildren }) {
  const url = URL.canParse(href) ? new URL(href) : undefined
  if (url === undefined || !/^(?:https?|mailto):$/.test(url.protocol))
    return <span class="no-link">{children}</span>
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow ugc" title={cleanText(url.href)}>
      {children}
    </a>
  )
}
