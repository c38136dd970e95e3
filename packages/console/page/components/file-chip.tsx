import { useEffect, useState } from 'preact/hooks'
import { readFile } from '../api/resources.ts'
import { ErrorNotice } from './notice.tsx'
import { cleanLine } from './clean-text.ts'
import { Icon, WebLink } from './elements.tsx'
import { formatBytes } from './time.tsx'
import './file-chip.css'

/** A file of a run, as its parts and results describe it. */
export interface ShownFile {
  readonly fileId?: string | undefined
  readonly mimeType: string
  readonly filename?: string | undefined
  readonly size?: number | undefined
  readonly purpose?: string | undefined
  /** Where it is, if the service does not have it. */
  readonly url?: string | undefined
  /** The file itself, if the visitor has just given it. */
  readonly content?: Blob | undefined
}

/** Types that cannot run anything; every other file is only ever downloaded. */
const SHOWN = /^image\/(?:apng|avif|bmp|gif|jpeg|png|webp)$/
const PLAYED = /^(?:audio|video)\/[\w.+-]+$/
/** Bytes of a file that is shown without being asked for. */
const MAX_SHOWN = 5_000_000

/** A file with its name and a way to save it; images and audio of the service are shown. */
export function FileChip({ runId, file }: { runId: string; file: ShownFile }) {
  const { fileId, mimeType, filename, size = 0, purpose, url, content } = file
  const [error, setError] = useState<unknown>()
  const name = cleanLine(filename ?? purpose ?? url ?? 'file', 80)
  const canShow =
    (fileId ?? content) !== undefined && size <= MAX_SHOWN && (SHOWN.test(mimeType) || PLAYED.test(mimeType))
  const save = async () => {
    setError(undefined)
    try {
      const made = URL.createObjectURL(await readFile(runId, fileId!, 'application/octet-stream'))
      const link = document.createElement('a')
      link.href = made
      link.download = filename ?? fileId!
      link.click()
      setTimeout(() => URL.revokeObjectURL(made), 10_000)
    } catch (err) {
      setError(err)
    }
  }
  return (
    <figure class="file">
      {canShow && (
        <FilePreview runId={runId} fileId={fileId} content={content} mimeType={mimeType} name={name} />
      )}
      <figcaption class="row">
        <span class="chip">
          <Icon name="file" />
          <bdi>{url === undefined ? name : <WebLink href={url}>{name}</WebLink>}</bdi>
          <span>{cleanLine(mimeType, 60)}</span>
          {size > 0 && <span>{formatBytes(size)}</span>}
        </span>
        {fileId !== undefined && (
          <button
            type="button"
            class="button quiet icon"
            aria-label={`Download ${name}`}
            onClick={() => void save()}
          >
            <Icon name="download" />
          </button>
        )}
      </figcaption>
      {error !== undefined && <ErrorNotice error={error} />}
    </figure>
  )
}

/** An image, audio or video of the service, or one that the visitor has given. */
export function FilePreview({
  runId,
  fileId,
  content,
  mimeType,
  name
}: Pick<ShownFile, 'fileId' | 'content' | 'mimeType'> & { runId: string; name: string }) {
  const [url, setUrl] = useState<string>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const abort = new AbortController()
    let made: string | undefined
    const reading =
      content === undefined ? readFile(runId, fileId!, mimeType, abort.signal) : Promise.resolve(content)
    reading.then(
      (blob) => {
        if (abort.signal.aborted) return
        setUrl((made = URL.createObjectURL(blob)))
      },
      (err: unknown) => {
        if (!abort.signal.aborted) setError(err)
      }
    )
    return () => {
      abort.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [runId, fileId, content, mimeType])
  if (error !== undefined) return <ErrorNotice error={error} />
  if (url === undefined || !(SHOWN.test(mimeType) || PLAYED.test(mimeType))) return <div class="file-space" />
  if (mimeType.startsWith('image/')) return <img src={url} alt={name} />
  if (mimeType.startsWith('video/')) return <video src={url} controls aria-label={name} />
  return <audio src={url} controls aria-label={name} />
}
