import type { PartOf } from '@svc/contract'
import { cleanLine, cleanText } from '../clean-text.ts'
import { WebLink } from '../elements.tsx'
import { FileChip, type ShownFile } from '../file-chip.tsx'
import { JsonTree } from '../json-tree.tsx'

/** What a run was asked: a text, content parts, or JSON, and the files that the visitor has just given. */
export function Content({
  content,
  runId,
  files
}: {
  content: unknown
  runId: string | undefined
  files?: readonly File[] | undefined
}) {
  return (
    <>
      {!(content === '' && files?.length) && <Said content={content} runId={runId} />}
      {files?.map((file) => (
        <FileChip
          runId=""
          file={{ content: file, mimeType: file.type, filename: file.name, size: file.size }}
        />
      ))}
    </>
  )
}

function Said({ content, runId }: { content: unknown; runId: string | undefined }) {
  if (typeof content === 'string') return <p class="said">{cleanText(content)}</p>
  if (!isParts(content)) return <JsonTree value={content} label="input" open={1} />
  return (
    <>
      {content.map((part) =>
        part.type === 'text' ? (
          <p class="said">{cleanText(textOf(part['text']) ?? '')}</p>
        ) : (
          <FileChip runId={runId ?? ''} file={toFile(part, runId)} />
        )
      )}
    </>
  )
}

type PartLike = Record<string, unknown> & { type: string }

function isParts(content: unknown): content is PartLike[] {
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((part) => typeof (part as PartLike | null)?.type === 'string')
  )
}

function toFile(part: PartLike, runId: string | undefined): ShownFile {
  return {
    fileId: runId === undefined ? undefined : textOf(part['fileId']),
    mimeType: textOf(part['mimeType']) ?? part.type,
    filename: textOf(part['filename']),
    url: textOf(part['url']),
    size: typeof part['size'] === 'number' ? part['size'] : undefined
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

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
