import { fileTypeFromBuffer } from 'file-type'
import mime from 'mime'
import type { ToolContext } from '../../tools/define-tool.ts'
import type { Download } from '../browser.ts'
import type { BrowserPlan } from '../plan-browser.ts'

/** Keeps what pages offered as files of the run, if their type is allowed; returns a line for each. */
export async function keepDownloads(
  downloads: readonly Download[],
  { downloads: rules, secrets }: BrowserPlan,
  call: ToolContext
): Promise<string[]> {
  const lines: string[] = []
  for (const download of downloads) {
    const { filename } = download
    const refuse = (why: string) => lines.push(`The download ${JSON.stringify(filename)} was refused: ${why}`)
    if (rules === undefined) refuse('downloads are not allowed')
    else {
      const data = await bytesOf(download)
      const mimeType = await typeOf(filename, data)
      if (mimeType === undefined) refuse('its content does not fit its name')
      else if (!rules.types.includes(mimeType)) refuse(`${mimeType} is not allowed`)
      else if (secrets.isIn(data)) refuse('it has a secret')
      else {
        const { fileId, size } = await call.keepFile({ data, mimeType, filename, purpose: 'download' })
        lines.push(
          fileId === undefined
            ? `The download ${JSON.stringify(filename)} could not be kept`
            : `Downloaded ${JSON.stringify(filename)}, ${mimeType}, ${size} bytes, as file ${fileId}`
        )
      }
    }
  }
  return lines
}

async function bytesOf(download: Download): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of download.content()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The media type of a file by its name; undefined if its bytes say otherwise. */
async function typeOf(filename: string, data: Buffer): Promise<string | undefined> {
  const named = mime.getType(filename) ?? 'application/octet-stream'
  const found = await fileTypeFromBuffer(data)
  if (found === undefined) return isText(named) && data.includes(0) ? undefined : named
  const isXml = found.mime === 'application/xml' && (named.endsWith('xml') || named === 'text/html')
  return found.mime === named || isXml ? named : undefined
}

function isText(type: string): boolean {
  return (
    type.startsWith('text/') || type === 'application/json' || type.endsWith('+json') || type.endsWith('xml')
  )
}
